"""Masked language models of several widths, measured along their trainings."""

import dataclasses
from functools import partial
from pathlib import Path

import numpy as np

from configs.flatness.masked import get_config
from el_jax import build
from el_jax.models import TransformerConfig
from el_jax.models.surgery import replication
from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.flat_size.probe import GROUPS
from experiments.flat_size.settings import (
    ACCURACIES,
    CONVENTIONS,
    EQUAL_LOSS,
    KL,
    WORLDS,
    at_equal_loss,
    suffix_of,
)
from experiments.flat_time.settings import LABELS
from experiments.harness.shards import WHOLE, Shard
from experiments.harness.studies import Study
from experiments.harness.sweep import run_sweep

COMPARED = (*ACCURACIES, *CONVENTIONS, *(f"fisher_{group}" for group in GROUPS))
METRICS = [
    *(KL, "kl_sem", "entropy", "step_at_equal_loss"),
    *COMPARED,
    *(at_equal_loss(metric) for metric in COMPARED),
    *(f"{accuracy}_{rate}" for accuracy in ACCURACIES for rate in ("majority", "bayes")),
]
CURVES = [KL, *ACCURACIES]
WIDTHS = {"smoke": (8, 16), "cpu": (16, 32, 64, 96), "paper": (128, 192, 320, 384, 640, 960)}
WIDEST = {"smoke": 16, "cpu": 192, "paper": 1920}  # the least common multiple, as in Table 4
HEAD_SIZE = {"smoke": 4, "cpu": 16, "paper": 64}
NUM_LAYERS = {"smoke": 1, "cpu": 2, "paper": 4}
NUM_UPDATES = 8_000
RATE = 3e-3
WARM_UP = 360
LOOKS = {"smoke": 4, "cpu": 20, "paper": 30}
SEEDS = {"smoke": 2, "cpu": 6, "paper": 5}
PROBE = "experiments.flat_size.probe"  # registers size_traces


def studies(scale: str) -> list[Study]:
    """Every width in both worlds."""
    return [_study(scale, world, width) for world in WORLDS for width in WIDTHS[scale]]


def _study(scale: str, world: str, width: int) -> Study:
    config, labels = config_of(scale, world, width), LABELS[scale][world]
    names = {f"downstream_{label}": name for label, name in zip(labels, ACCURACIES, strict=True)}
    extras = partial(numbers, factors=factors_of(config, WIDEST[scale]))
    return Study(config, suffix_of(world, width), names=names, extras=extras)


def config_of(scale: str, world: str, width: int) -> build.Config:
    """The training of one width."""
    size = {"smoke": "smoke", "cpu": "scale=small", "paper": "scale=paper"}[scale]
    config = get_config(f"world={world},{size}")
    num_heads = width // HEAD_SIZE[scale]
    config.model.update(width=width, num_heads=num_heads, num_layers=NUM_LAYERS[scale])
    config.task.downstream = LABELS[scale][world]
    config.optim.update(schedule="constant")
    config.train.seeds = SEEDS[scale]
    if scale == "cpu":
        config.optim.update(peak_lr=RATE, warmup_steps=WARM_UP)
        config.train.num_updates = NUM_UPDATES
    config.train.eval_every = config.train.num_updates // LOOKS[scale]
    config.train.checkpoint_every = config.train.eval_every
    config.train.probes = ("true_conditional", "downstream", "size_traces")
    config.imports = (PROBE,)
    return config


def factors_of(config: build.Config, widest: int) -> dict[str, dict[str, float]]:
    """By convention, what embedding in the widest network multiplies each group's trace with."""
    small = build.parse(config).model.config
    assert isinstance(small, TransformerConfig)
    k = widest // small.width
    large = dataclasses.replace(small, width=widest, num_heads=k * small.num_heads)
    found = {}
    for name, convention in CONVENTIONS.items():
        if convention.scale is None:
            kept = ("matrices",) if name == "trace_matrices" else GROUPS
            found[name] = {group: float(group in kept) for group in GROUPS}
        else:
            plan = replication(small, large, k**-convention.scale).values()
            found[name] = {replica.group: replica.fisher_factor for replica in plan}
    return found


def numbers(history: History, factors: dict[str, dict[str, float]]) -> Row:
    """Traces by convention, at the end, and all that is compared where losses are equal."""
    steps, kl = history.curve(KL)
    courses = {name: history.curve(name)[1] for name in COMPARED if name not in CONVENTIONS}
    for name, factor in factors.items():
        courses[name] = np.sum([f * courses[f"fisher_{g}"] for g, f in factor.items()], axis=0)
    found: Row = {name: courses[name][-1] for name in factors}
    for name, course in courses.items():
        found[at_equal_loss(name)] = where(kl, EQUAL_LOSS, course)
    all_steps = np.broadcast_to(steps[:, None], kl.shape)
    return found | {"step_at_equal_loss": where(kl, EQUAL_LOSS, all_steps)}


def where(kl: np.ndarray, nats: float, course: np.ndarray) -> np.ndarray:
    """The value of a course where KL first is so many nats, on a line in log KL between looks.

    Args:
        kl: at each look, ``[looks, R]``, positive.
        nats: the divergence.
        course: a number at each look, ``[looks, R]``.

    Returns:
        ``[R]``; NaN for a run that starts below, or never comes there.
    """
    reached = kl <= nats
    crossed = reached.any(0) & ~reached[0]
    after = np.where(crossed, reached.argmax(0), 1)
    before, runs = after - 1, np.arange(kl.shape[1])
    high, low = np.log(kl[before, runs]), np.log(kl[after, runs])
    share = (high - np.log(nats)) / np.where(crossed, high - low, 1.0)
    value = course[before, runs] + share * (course[after, runs] - course[before, runs])
    return np.where(crossed, value, np.nan)


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train and write the tables."""
    run_sweep("flat_size", scale, out, studies(scale), metrics=METRICS, curves=CURVES, shard=shard)
