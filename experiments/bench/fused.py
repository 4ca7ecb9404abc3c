"""Time and memory of loss and gradient, without and with the [tokens, V] logits."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.losses import cross_entropy, e1, e2, e3, fused_token_stats, reads_softmax
from el_jax.losses.fused import Path
from el_jax.losses.gradients import TokenLoss
from experiments.bench.measurement import Measurement
from experiments.bench.paired import compare
from experiments.bench.timing import seconds_of

LOSSES: dict[str, TokenLoss] = {
    "cross_entropy": cross_entropy,
    "e1": partial(e1, lam=1.0),
    "e2": partial(e2, lam=1.0),
    "e3": partial(e3, b=2.0, reduction="mean"),
}
LABELS = {"cross_entropy": "cross-entropy", "e1": "E1", "e2": "E2", "e3": "E3"}


class Size(NamedTuple):
    """Sizes of a language model's output."""

    tokens: int
    width: int
    num_classes: int

    def __str__(self) -> str:
        return f"{self.tokens} tokens, D={self.width}, V={self.num_classes}"


class Plan(NamedTuple):
    """Losses, sizes and number of rounds."""

    losses: tuple[str, ...]
    size: Size
    rounds: int


PLANS = {
    "smoke": Plan(("e1",), Size(16, 8, 512), 1),
    "cpu": Plan(tuple(LOSSES), Size(512, 256, 50_257), 9),
    "gpu": Plan(tuple(LOSSES), Size(16_384, 768, 50_257), 20),
}


def measure(plan: Plan) -> Iterator[Measurement]:
    """Ratios of time and of temporary memory, the fused way over the plain one."""
    for name in plan.losses:
        yield _compare(name, plan.size, plan.rounds)


def _compare(name: str, size: Size, rounds: int) -> Measurement:
    operands = operands_of(size)
    plain, fused = (
        loss_and_gradient(LOSSES[name], path).lower(*operands).compile()
        for path in ("plain", "auto")
    )
    first, second = (seconds_of(partial(run, *operands)) for run in (plain, fused))
    found = compare(first, second, rounds)
    planned = [temporary_bytes(run) for run in (plain, fused)]
    return Measurement(
        f"{LABELS[name]}, {size}",
        {
            "time / plain": found.ratios,
            "plain, ms": 1e3 * found.first_seconds,
            "memory / plain": planned[1] / planned[0],
            "plain, MB": planned[0] / 1e6,
        },
    )


def loss_and_gradient(loss: TokenLoss, path: Path) -> jax.stages.Wrapped:
    """Mean loss of tokens, and its gradient by hidden states and head, compiled on first use."""
    softmax = reads_softmax(loss)

    def mean(hidden: Array, head: Array, labels: Array) -> Array:
        return loss(fused_token_stats(hidden, head, labels, softmax=softmax, path=path)).mean()

    return jax.jit(jax.value_and_grad(mean, argnums=(0, 1)))


def operands_of(size: Size) -> tuple[Array, Array, Array]:
    """Hidden states and head whose logits have about unit variance, and labels."""
    hidden_key, head_key, label_key = jax.random.split(jax.random.key(0), 3)
    return (
        jax.random.normal(hidden_key, (size.tokens, size.width)),
        jax.random.normal(head_key, (size.width, size.num_classes)) / jnp.sqrt(size.width),
        jax.random.randint(label_key, (size.tokens,), 0, size.num_classes),
    )


def temporary_bytes(run: jax.stages.Compiled) -> int:
    """Peak memory besides arguments and results, in bytes, as the compiler plans it.

    Raises:
        RuntimeError: if the backend has no memory plan.
    """
    planned = run.memory_analysis()
    if planned is None:
        raise RuntimeError("this backend does not plan memory ahead")
    return planned.temp_size_in_bytes
