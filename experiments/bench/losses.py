"""Losses and gradients: against cross-entropy, without all logits, only at supervised positions.

Three benchmarks: ``losses`` (equal-learning losses against cross-entropy), ``fused`` (without and
with the [tokens, V] logits) and ``last_block`` (the last block at all positions or only at the
supervised ones).
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from el_jax import build
from el_jax.losses import cross_entropy, e1, e2, e3, fused_stats_and_moments, reads
from el_jax.losses.fused import Path
from el_jax.losses.gradients import TokenLoss
from experiments.bench.paired import Benchmark, Case, Timing, Values, compare, seconds_of
from experiments.bench.trainings import (
    PlainUpdates,
    Updates,
    copy_config,
    network,
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


def operands(tokens: int, width: int, vocab_size: int) -> tuple[Array, Array, Array]:
    """Hidden states and a head whose logits have about unit variance, and labels."""
    hidden_key, head_key, label_key = jax.random.split(jax.random.key(0), 3)
    return (
        jax.random.normal(hidden_key, (tokens, width)),
        jax.random.normal(head_key, (width, vocab_size)) / jnp.sqrt(width),
        jax.random.randint(label_key, (tokens,), 0, vocab_size),
    )


def loss_and_gradient(loss: TokenLoss, path: Path) -> jax.stages.Wrapped:
    """Mean loss over tokens and its gradient in hidden states and head, compiled on first use."""
    softmax = reads(loss)

    def mean(hidden: Array, head: Array, labels: Array) -> Array:
        stats, _ = fused_stats_and_moments(hidden, head, labels, softmax=softmax, path=path)
        return loss(stats).mean()

    return jax.jit(jax.value_and_grad(mean, argnums=(0, 1)))


def measure_losses(case: Case, smoke: bool, num_updates: int, rounds: int) -> Values:
    """A loss's time over cross-entropy's: whole updates of the copy task, or the fused loss."""

    def timing(loss: str) -> Timing:
        if case["work"] == "update":
            training = build.build(build.parse(copy_config(loss, smoke=smoke)))
            return seconds_of(Updates(training, num_updates))
        arrays = operands(case["tokens"], case["width"], case["vocab_size"])
        return seconds_of(partial(loss_and_gradient(ALL[loss], "auto"), *arrays))

    found = compare(timing("cross_entropy"), timing(case["loss"]), rounds)
    return {"time / cross-entropy": found.ratios}


def measure_fused(case: Case, rounds: int) -> Values:
    """Ratios of time and of temporary memory, fused over plain."""
    arrays = operands(case["tokens"], case["width"], case["vocab_size"])
    plain, fused = (
        loss_and_gradient(ALL[case["loss"]], path).lower(*arrays).compile()
        for path in ("plain", "auto")
    )
    first, second = (seconds_of(partial(run, *arrays)) for run in (plain, fused))
    found = compare(first, second, rounds)
    return {
        "time / plain": found.ratios,
        "plain, ms": 1e3 * found.first_seconds,
        "memory / plain": temporary_bytes(fused) / temporary_bytes(plain),
        "plain, MB": temporary_bytes(plain) / 1e6,
    }


def measure_last_block(case: Case, num_updates: int, rounds: int) -> Values:
    """Time at all positions over time at supervised ones, and the update's share in the head."""
    model = network("gpt_neox", case, vocab_size=COPY_VOCAB_SIZE, num_heads=4, rotary_fraction=0.5)
    windows, length = case["windows"], case["length"]
    few, everywhere = (
        PlainUpdates(model, random_batch(COPY_VOCAB_SIZE, windows, length, supervised), num_updates)
        for supervised in (case["asked"], None)
    )
    arrays = operands(windows * length, case["width"], COPY_VOCAB_SIZE)
    once = partial(loss_and_gradient(cross_entropy, "plain"), *arrays)
    # logits, loss and their gradient, where the two sides also differ
    head_and_loss = seconds_of(lambda: [once() for _ in range(num_updates)])
    found = compare(seconds_of(few), seconds_of(everywhere), rounds)
    head = compare(seconds_of(everywhere), head_and_loss, rounds)
    return {
        "everywhere / where asked": found.ratios,
        "operations everywhere / where asked": everywhere.operations / few.operations,
        "head and loss everywhere / update everywhere": head.ratios,
        "update where asked, ms": 1e3 * found.first_seconds / num_updates,
    }


Head = tuple[int, int, int]  # tokens, width and vocabulary of a fused loss


def _fused(losses: Sequence[str], head: Head, before: str = "", **own: str) -> dict[str, Case]:
    tokens, width, vocab_size = head
    sizes = {"tokens": tokens, "width": width, "vocab_size": vocab_size}
    words = f"{before}{tokens} tokens, D={width}, V={vocab_size}"
    return {f"{LABELS[loss]}, {words}": {**own, "loss": loss, **sizes} for loss in losses}


def _works(losses: Sequence[str], head: Head) -> dict[str, Case]:
    return {
        **{
            f"{LABELS[loss]}, one update of the copy task": {"work": "update", "loss": loss}
            for loss in losses
        },
        **_fused(losses, head, before="fused loss, ", work="fused"),
    }


def _block(width: int, layers: int, windows: int, length: int, asked: int) -> dict[str, Case]:
    words = f"{layers}L/{width}, {windows}x{length} tokens, {asked} asked in each"
    sizes = {"width": width, "num_layers": layers, "windows": windows, "length": length}
    return {words: {**sizes, "asked": asked}}


LOSSES = Benchmark(
    measure_losses,
    {
        "smoke": (_works(["e1"], (16, 8, 128)), True, 2, 1),
        "cpu": (_works(["e1", "e2", "e3"], (1024, 256, 16_384)), False, 50, 25),
        "gpu": (_works(["e1", "e2", "e3"], (16_384, 768, 50_304)), False, 200, 20),
    },
    one_core=True,
)
FUSED = Benchmark(
    measure_fused,
    {
        "smoke": (_fused(["e1"], (16, 8, 512)), 1),
        "cpu": (_fused([*ALL], (512, 256, 50_257)), 9),
        "gpu": (_fused([*ALL], (16_384, 768, 50_257)), 20),
    },
    one_core=True,
)
LAST_BLOCK = Benchmark(
    measure_last_block,
    {
        "smoke": (_block(16, 2, 2, 16, 1), 1, 1),
        "cpu": (_block(128, 4, 2, 512, 1), 1, 9),
        "gpu": (_block(128, 4, 8, 2013, 5), 50, 20),
    },
    one_core=True,
)
