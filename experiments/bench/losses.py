"""Losses and their gradients: by cross-entropy's time, without all logits, and where asked alone.

Three benchmarks: ``losses`` (equal-learning losses against cross-entropy), ``fused`` (without and
with the [tokens, V] logits) and ``last_block`` (the last block at all positions, or at the
supervised ones only).
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from el_jax import build
from el_jax.losses import cross_entropy, e1, e2, e3, fused_token_stats, reads_softmax
from el_jax.losses.fused import Path
from el_jax.losses.gradients import TokenLoss
from el_jax.models import PRESETS
from experiments.bench.paired import Benchmark, Measurement, Timing, compare, seconds_of
from experiments.bench.trainings import (
    PlainUpdates,
    Updates,
    copy_config,
    random_batch,
    temporary_bytes,
)

ALL: dict[str, TokenLoss] = {
    "cross_entropy": cross_entropy,
    "e1": partial(e1, lam=1.0),
    "e2": partial(e2, lam=1.0),
    "e3": partial(e3, b=2.0, reduction="mean"),
}
LABELS = {"cross_entropy": "cross-entropy", "e1": "E1", "e2": "E2", "e3": "E3"}
COPY_VOCAB_SIZE = 29


class Size(NamedTuple):
    """Sizes of a language model's output."""

    tokens: int
    width: int
    num_classes: int

    def __str__(self) -> str:
        return f"{self.tokens} tokens, D={self.width}, V={self.num_classes}"

    def operands(self) -> tuple[Array, Array, Array]:
        """Hidden states and head whose logits have about unit variance, and labels."""
        hidden_key, head_key, label_key = jax.random.split(jax.random.key(0), 3)
        return (
            jax.random.normal(hidden_key, (self.tokens, self.width)),
            jax.random.normal(head_key, (self.width, self.num_classes)) / jnp.sqrt(self.width),
            jax.random.randint(label_key, (self.tokens,), 0, self.num_classes),
        )


def loss_and_gradient(loss: TokenLoss, path: Path) -> jax.stages.Wrapped:
    """Mean loss of tokens, and its gradient by hidden states and head, compiled on first use."""
    softmax = reads_softmax(loss)

    def mean(hidden: Array, head: Array, labels: Array) -> Array:
        return loss(fused_token_stats(hidden, head, labels, softmax=softmax, path=path)).mean()

    return jax.jit(jax.value_and_grad(mean, argnums=(0, 1)))


def measure_losses(
    losses: Sequence[str], smoke: bool, num_updates: int, size: Size, rounds: int
) -> Iterator[Measurement]:
    """Times of each loss over cross-entropy: whole updates of the copy task, and fused losses."""
    operands = size.operands()

    def of_updates(loss: str) -> Timing:
        training = build.build(build.parse(copy_config(loss, smoke=smoke)))
        return seconds_of(Updates(training, num_updates))

    def of_fused(loss: str) -> Timing:
        return seconds_of(partial(loss_and_gradient(ALL[loss], "auto"), *operands))

    works: dict[str, Callable[[str], Timing]] = {
        "one update of the copy task": of_updates,
        f"fused loss, {size}": of_fused,
    }
    for work, timing in works.items():
        plain = timing("cross_entropy")
        for loss in losses:
            found = compare(plain, timing(loss), rounds)
            yield Measurement(f"{LABELS[loss]}, {work}", {"time / cross-entropy": found.ratios})


def measure_fused(losses: Sequence[str], size: Size, rounds: int) -> Iterator[Measurement]:
    """Ratios of time and of temporary memory, the fused way over the plain one."""
    operands = size.operands()
    for name in losses:
        plain, fused = (
            loss_and_gradient(ALL[name], path).lower(*operands).compile()
            for path in ("plain", "auto")
        )
        first, second = (seconds_of(partial(run, *operands)) for run in (plain, fused))
        found = compare(first, second, rounds)
        values: dict[str, float | np.ndarray] = {
            "time / plain": found.ratios,
            "plain, ms": 1e3 * found.first_seconds,
            "memory / plain": temporary_bytes(fused) / temporary_bytes(plain),
            "plain, MB": temporary_bytes(plain) / 1e6,
        }
        yield Measurement(f"{LABELS[name]}, {size}", values)


def measure_last_block(
    width: int,
    num_layers: int,
    windows: int,
    length: int,
    asked: int,
    num_updates: int,
    rounds: int,
) -> Iterator[Measurement]:
    """Time everywhere over time where asked, and the share of an update for head and loss."""
    model = dataclasses.replace(
        PRESETS["gpt_neox"],
        vocab_size=COPY_VOCAB_SIZE,
        width=width,
        num_layers=num_layers,
        num_heads=4,
        rotary_fraction=0.5,
    )
    few, everywhere = (
        PlainUpdates(model, random_batch(COPY_VOCAB_SIZE, windows, length, supervised), num_updates)
        for supervised in (asked, None)
    )
    operands = Size(windows * length, width, COPY_VOCAB_SIZE).operands()
    once = partial(loss_and_gradient(cross_entropy, "plain"), *operands)
    # logits, loss and their gradient, in which the two sides also differ
    head_and_loss = seconds_of(lambda: [once() for _ in range(num_updates)])
    found = compare(seconds_of(few), seconds_of(everywhere), rounds)
    head = compare(seconds_of(everywhere), head_and_loss, rounds)
    values: dict[str, float | np.ndarray] = {
        "everywhere / where asked": found.ratios,
        "operations everywhere / where asked": everywhere.operations / few.operations,
        "head and loss everywhere / update everywhere": head.ratios,
        "update where asked, ms": 1e3 * found.first_seconds / num_updates,
    }
    case = f"{num_layers}L/{width}, {windows}x{length} tokens, {asked} asked in each"
    yield Measurement(case, values)


_EQUAL_LEARNING = ("e1", "e2", "e3")
LOSSES = Benchmark(
    measure_losses,
    {
        "smoke": (("e1",), True, 2, Size(16, 8, 128), 1),
        "cpu": (_EQUAL_LEARNING, False, 50, Size(1024, 256, 16_384), 25),
        "gpu": (_EQUAL_LEARNING, False, 200, Size(16_384, 768, 50_304), 20),
    },
    one_core=True,
)
FUSED = Benchmark(
    measure_fused,
    {
        "smoke": (("e1",), Size(16, 8, 512), 1),
        "cpu": (tuple(ALL), Size(512, 256, 50_257), 9),
        "gpu": (tuple(ALL), Size(16_384, 768, 50_257), 20),
    },
    one_core=True,
)
LAST_BLOCK = Benchmark(
    measure_last_block,
    {
        "smoke": (16, 2, 2, 16, 1, 1, 1),
        "cpu": (128, 4, 2, 512, 1, 1, 9),
        "gpu": (128, 4, 8, 2013, 5, 50, 20),
    },
    one_core=True,
)
