"""Masked language models trained on after their loss has converged, with probes on the way."""

from pathlib import Path

import numpy as np

from configs.flatness.masked import get_config
from el_jax import build
from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.flat_time.settings import (
    ACCURACIES,
    KL,
    LABELS,
    OPTIMIZERS,
    RATES,
    TOLERANCES,
    WATCHED,
    converged_step,
    since,
    suffix_of,
)
from experiments.harness.shards import WHOLE, Shard
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

CURVES = [KL, *ACCURACIES, "fisher_trace", "scale_free_trace"]
METRICS = [
    *WATCHED,
    *(f"{metric}_sem" for metric in CURVES),
    *(f"{accuracy}_{rate}" for accuracy in ACCURACIES for rate in RATES),
    *(since(metric, tolerance) for tolerance in TOLERANCES for metric in WATCHED),
    *(converged_step(tolerance) for tolerance in TOLERANCES),
    "entropy",
]
RATE = {"adamw": 3e-3, "sgd": 0.5}
NUM_UPDATES = {"adamw": 18_000, "sgd": 36_000}
WARM_UP = 360
LOOKS = {"smoke": 4, "cpu": 18, "paper": 30}
SEEDS = {"smoke": 2, "cpu": 8, "paper": 5}


def studies(scale: str) -> list[Study]:
    """Both worlds with both optimizers, at constant rates: a decay would end every change."""
    return [
        Study(config_of(scale, world, optimizer), suffix_of(world, optimizer), names=_names(labels))
        for world, labels in LABELS[scale].items()
        for optimizer in OPTIMIZERS
    ]


def config_of(scale: str, world: str, optimizer: str) -> build.Config:
    """The training of one setting."""
    size = {"smoke": "smoke", "cpu": "scale=small", "paper": "scale=paper"}[scale]
    config = get_config(f"world={world},optimizer={optimizer},{size}")
    config.task.downstream = LABELS[scale][world]
    config.optim.update(schedule="constant", peak_lr=RATE[optimizer])
    config.train.seeds = SEEDS[scale]
    if scale == "cpu":
        config.train.num_updates = NUM_UPDATES[optimizer]
        config.optim.warmup_steps = WARM_UP
    config.train.eval_every = config.train.num_updates // LOOKS[scale]
    config.train.checkpoint_every = config.train.eval_every
    config.train.probes = ("true_conditional", "curvature", "downstream")
    return config


def _names(labels: tuple[str, ...]) -> dict[str, str]:
    """The names of the metrics of a world's labels in the tables."""
    return {f"downstream_{label}": name for label, name in zip(labels, ACCURACIES, strict=True)}


def numbers(history: History) -> Row:
    """The update from which each run counts as converged, and its changes from there to the end.

    Returns:
        ``[R]`` by name.
    """
    found: Row = {}
    steps, kl = history.curve(KL)
    for tolerance, nats in TOLERANCES.items():
        first = converged(kl, nats)
        found[converged_step(tolerance)] = steps[first]
        for metric in WATCHED:
            course = history.curve(metric)[1]
            found[since(metric, tolerance)] = course[-1] - course[first, range(len(first))]
    return found


def converged(kl: np.ndarray, nats: float) -> np.ndarray:
    """The first look from which KL stays within so many nats of its last value.

    Args:
        kl: at each look, ``[looks, R]``.
        nats: the tolerance.

    Returns:
        ``[R]``.
    """
    far = np.abs(kl - kl[-1]) > nats  # False at the last look
    return np.where(far, np.arange(1, len(kl) + 1)[:, None], 0).max(0)


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train and write the tables."""
    run_sweep(
        "flat_time", scale, out, studies(scale),
        metrics=METRICS, curves=CURVES, extras=numbers, shard=shard,
    )  # fmt: skip
