"""Loss and gradient without the [tokens, V] logits against with them: time and memory.

python -m experiments.bench.fused
"""

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from el_jax.losses import cross_entropy, e1, e2, e3, fused_token_stats, reads_softmax
from el_jax.losses.fused import Path
from el_jax.losses.gradients import TokenLoss

LOSSES: dict[str, TokenLoss] = {
    "cross_entropy": cross_entropy,
    "e1": partial(e1, lam=1.0),
    "e2": partial(e2, lam=1.0),
    "e3": partial(e3, b=2.0, reduction="mean"),
}


class Size(NamedTuple):
    """Sizes of a language model's output."""

    tokens: int
    width: int
    num_classes: int


SIZES = (Size(1024, 256, 16384), Size(512, 256, 50257))


class Row(NamedTuple):
    """One comparison, fused over plain.

    Attributes:
        loss: its name.
        size: of the problem.
        time_ratio: median over pairs of runs.
        time_low: first quartile.
        time_high: third quartile.
        memory_ratio: of temporary memory at its peak, as the compiler plans it.
        plain_seconds: median time of loss and gradient the plain way.
        plain_megabytes: temporary memory of the plain way.
    """

    loss: str
    size: Size
    time_ratio: float
    time_low: float
    time_high: float
    memory_ratio: float
    plain_seconds: float
    plain_megabytes: float


def measure(sizes: tuple[Size, ...] = SIZES, *, num_rounds: int = 3) -> list[Row]:
    """Every loss at every size.

    Args:
        sizes: to measure.
        num_rounds: of the four runs plain, fused, fused, plain, which are two pairs.
    """
    return [_compare(name, size, num_rounds) for size in sizes for name in LOSSES]


def _compare(name: str, size: Size, num_rounds: int) -> Row:
    operands = _operands(size)
    loss = LOSSES[name]
    plain = _loss_and_gradient(loss, "plain").lower(*operands).compile()
    fused = _loss_and_gradient(loss, "auto").lower(*operands).compile()
    rounds = [
        [_seconds(run, operands) for run in (plain, fused, fused, plain)]
        for _ in range(num_rounds + 1)
    ][1:]  # the first round warms up
    pairs = np.array(rounds)[:, [[0, 1], [3, 2]]].reshape(-1, 2)
    low, middle, high = np.quantile(pairs[:, 1] / pairs[:, 0], [0.25, 0.5, 0.75])
    memory = [_temporary_bytes(run) for run in (plain, fused)]
    return Row(
        loss=name,
        size=size,
        time_ratio=float(middle),
        time_low=float(low),
        time_high=float(high),
        memory_ratio=memory[1] / memory[0],
        plain_seconds=float(np.median(pairs[:, 0])),
        plain_megabytes=memory[0] / 1e6,
    )


def _loss_and_gradient(loss: TokenLoss, path: Path) -> jax.stages.Wrapped:
    softmax = reads_softmax(loss)

    def mean(hidden: Array, head: Array, labels: Array) -> Array:
        return loss(fused_token_stats(hidden, head, labels, softmax=softmax, path=path)).mean()

    return jax.jit(jax.value_and_grad(mean, argnums=(0, 1)))


def _operands(size: Size) -> tuple[Array, Array, Array]:
    hidden_key, head_key, label_key = jax.random.split(jax.random.key(0), 3)
    return (
        jax.random.normal(hidden_key, (size.tokens, size.width)),
        jax.random.normal(head_key, (size.width, size.num_classes)) / jnp.sqrt(size.width),
        jax.random.randint(label_key, (size.tokens,), 0, size.num_classes),
    )


def _temporary_bytes(run: jax.stages.Compiled) -> int:
    planned = run.memory_analysis()
    if planned is None:
        raise RuntimeError("this backend does not plan memory ahead")
    return planned.temp_size_in_bytes


def _seconds(run: Callable, operands: tuple[Array, ...]) -> float:
    start = time.perf_counter()
    jax.block_until_ready(run(*operands))
    return time.perf_counter() - start


def _main() -> None:
    print(f"{'loss':14} {'T':>5} {'D':>4} {'V':>6}  time (quartiles)     memory   plain")
    for row in measure():
        size = f"{row.size.tokens:5} {row.size.width:4} {row.size.num_classes:6}"
        spread = f"{row.time_ratio:.2f} ({row.time_low:.2f}-{row.time_high:.2f})"
        plain = f"{row.plain_seconds:.2f} s, {row.plain_megabytes:.0f} MB"
        print(f"{row.loss:14} {size}  {spread:18} {row.memory_ratio:6.3f}   {plain}")


if __name__ == "__main__":
    _main()
