"""The timed trainings: the copy task, or one batch again and again; planned memory."""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from configs.el.copy import get_config
from el_jax import build
from el_jax.config.models import ModelChoice
from el_jax.losses import cross_entropy, token_stats
from el_jax.models import PRESETS, TransformerConfig, transformer
from el_jax.types import Batch, Params
from experiments.bench.paired import Case

ENDLESS = 1_000_000  # updates; no timing reaches it
PEAK_LR = 1e-3


@dataclasses.dataclass(frozen=True, eq=False)
class _OneBatch:
    """A task that reads the same windows, of tokens below ``vocab_size``, in every update."""

    batch: Batch
    vocab_size: int
    group_names: ClassVar[tuple[str, ...]] = ("all",)
    labels_follow: ClassVar[bool] = True
    answer_length: ClassVar[int] = 1

    @property
    def window_length(self) -> int:
        return self.batch.tokens.shape[1]

    def train_set(self) -> Batch:
        return self.batch

    def test_set(self, num: int) -> Batch:  # noqa: ARG002  (what every task has)
        return self.batch

    def pack(self, examples: Batch) -> Batch:
        return examples

    def batch_at(self, train_set: Batch, *_: object) -> Batch:
        return train_set


def random_batch(
    vocab_size: int, windows: int, length: int, supervised: int | None = None
) -> Batch:
    """Windows ``[windows, length]`` of uniform tokens.

    In each, ``supervised`` positions are drawn to be supervised; all of them if None.
    """
    generator = np.random.default_rng(0)
    tokens, labels = generator.integers(vocab_size, size=(2, windows, length)).astype(np.int32)
    places = np.tile(np.arange(length, dtype=np.int32), (windows, 1))
    if supervised is not None:
        places = np.sort(generator.permuted(places, axis=1)[:, :supervised], axis=1)
    labels = np.take_along_axis(labels, places, axis=1)
    return Batch(*map(jnp.asarray, (tokens, places, labels, labels >= 0, 0 * labels)))


def network(preset: str, case: Case, **own: Any) -> TransformerConfig:
    """A preset with the sizes of a case, without dropout."""
    sizes = ("vocab_size", "width", "num_layers", "num_heads")
    for place in ("embedding", "attention", "residual"):
        own[f"{place}_dropout"] = 0.0
    own |= {name: case[name] for name in sizes if name in case}
    return dataclasses.replace(PRESETS[preset], **own)


def temporary_bytes(run: jax.stages.Compiled) -> int:
    """Peak memory besides arguments and results, in bytes, as the compiler plans it.

    Raises:
        RuntimeError: if the backend has no memory plan.
    """
    planned = run.memory_analysis()
    if planned is None:
        raise RuntimeError("this backend does not plan memory ahead")
    return planned.temp_size_in_bytes


def copy_config(
    loss: str = "cross_entropy", *, smoke: bool = False, seeds: int = 1, run_axis: str = "vmap"
) -> build.Config:
    """The copy task's config at the cpu scale, or a tiny one, for timing on one device."""
    config = get_config(f"loss={loss},scale=small" + ",smoke" * smoke)
    config.train.update(seeds=seeds, run_axis=run_axis, shard="none", num_updates=ENDLESS)
    if smoke:
        config.model.update(width=8, num_layers=1)
        config.eval = {"test": 8, "test_precise": 8}
    return config


def on_one_batch(model: TransformerConfig, batch: Batch) -> build.Training:
    """A training with the copy task's loss and optimizer, on a given model and batch."""
    config = copy_config()
    # β₂ as in PyTorch's and optax's AdamW
    config.optim.update(peak_lr=PEAK_LR, schedule="constant", warmup_steps=0, b2=0.999)
    config.train.probes = ()  # those of the copy task
    settings = build.parse(config)
    fields = dataclasses.asdict(model)
    task = _OneBatch(batch, fields.pop("vocab_size"))
    chosen = ModelChoice("transformer", TransformerConfig, fields)
    return build.build(dataclasses.replace(settings, task=task, model=chosen))


class Updates:
    """Updates of a training, in ``calls`` dispatches at each call, going on from the last call."""

    def __init__(self, training: build.Training, num_updates: int, calls: int = 1) -> None:
        self._state = training.program.init()
        self._program, self._num_updates, self._calls = training.program, num_updates, calls

    @property
    def params(self) -> Params:
        """The parameters of the first run."""
        return jax.tree.map(lambda leaf: leaf[0], self._state.params)

    def __call__(self) -> None:
        """Make the updates and wait until they are done."""
        for _ in range(self._calls):
            self._state, *_ = self._program.advance(self._state, self._num_updates)
            jax.block_until_ready(self._state)


class PlainUpdates:
    """Only the gradient of cross-entropy and AdamW, without the rest of a training."""

    def __init__(self, model: TransformerConfig, batch: Batch, num_updates: int) -> None:
        network, optimizer = transformer(model), optax.adamw(PEAK_LR, weight_decay=0.0)
        self.params = network.init(jax.random.key(0))
        self._memory, self._batch = optimizer.init(self.params), batch

        def update(carry: tuple[Params, Any], batch: Batch) -> tuple[Params, Any]:
            def loss(params: Params) -> Array:
                return cross_entropy(token_stats(network.apply(params, batch), batch.labels)).mean()

            changes, memory = optimizer.update(jax.grad(loss)(carry[0]), carry[1], carry[0])
            return optax.apply_updates(carry[0], changes), memory

        def advance(params: Params, memory: Any, batch: Batch) -> tuple[Params, Any]:
            return jax.lax.scan(
                lambda carry, _: (update(carry, batch), None), (params, memory), length=num_updates
            )[0]

        donating = jax.jit(advance, donate_argnums=(0, 1))
        self._advance = donating.lower(self.params, self._memory, self._batch).compile()

    @property
    def operations(self) -> float:
        """Floating-point operations of an update, as the compiler counts them.

        Raises:
            RuntimeError: if the compiler of this backend counts none.
        """
        # XLA counts the body of a loop once, however often it runs
        counted = self._advance.cost_analysis()
        if counted is None:
            raise RuntimeError("this backend does not count operations")
        return counted["flops"]

    def __call__(self) -> None:
        """Make the updates and wait until they are done."""
        after = self._advance(self.params, self._memory, self._batch)
        self.params, self._memory = jax.block_until_ready(after)
