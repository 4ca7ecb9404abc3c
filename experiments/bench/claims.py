"""Goals of the training engine's speed, as claims on the rounds of each benchmark's cases."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from experiments.bench.curvature_peers import PAIRS
from experiments.bench.run import BENCHMARKS
from experiments.harness.claims import median, number
from experiments.harness.judging import Claim
from experiments.harness.tables import Where


class Goal(NamedTuple):
    """A bound on one quantity.

    Attributes:
        benchmark: the benchmark whose cases are bounded.
        quantity: the metric.
        at_least: the bound, if more is better.
        at_most: the bound, if less is better.
        by_rounds: False for a number that is counted, or measured only once.
        only: factor -> levels of the cases that are bounded.
    """

    benchmark: str
    quantity: str
    at_least: float = -math.inf
    at_most: float = math.inf
    by_rounds: bool = True
    only: Mapping[str, tuple[object, ...]] = MappingProxyType({})

    def __str__(self) -> str:
        return f"≥ {self.at_least:g}" if self.at_least > 0 else f"≤ {self.at_most:g}"

    def of_bound(self, value: float) -> float:
        """The value over its bound, or the inverse: at most 1 where the goal is met."""
        return self.at_least / value if self.at_least > 0 else value / self.at_most


def _at_once(device: str, times: float) -> Goal:
    best = "one after another / the best of these"
    return Goal("runs_at_once", best, at_least=times, only={"device": (device,)})


def _gradients(product: str, at_most: float) -> Goal:
    return Goal("curvature", "time / gradient", at_most=at_most, only={"product": (product,)})


def _once(benchmark: str, quantity: str, bound: float, **only: object) -> Goal:
    levels = {factor: (level,) for factor, level in only.items()}
    return Goal(benchmark, quantity, at_most=bound, by_rounds=False, only=levels)


# a sentence that states the goal, to which the case is added -> the bounded quantity
GOALS = {
    "An update takes at most 0.9 of PyTorch's time": Goal(
        "pytorch", "update / PyTorch", at_most=0.9, only={"asked": (1,)}
    ),
    "An update of all positions takes at most 0.9 of PyTorch's time": Goal(
        "pytorch", "update, all positions / PyTorch", at_most=0.9
    ),
    "A loss takes at most 1.05 of cross-entropy's time": Goal(
        "losses", "time / cross-entropy", at_most=1.05
    ),
    "Without all logits a loss takes at most 0.15 of the memory": _once(
        "fused", "memory / plain", 0.15, loss="e1"
    ),
    "Runs at once are 1.2 times as fast as one after another": _at_once("cpu", 1.2),
    "Runs at once are 8 times as fast as one after another": _at_once("gpu", 8.0),
    "A last block only where asked is 1.25 times as fast": Goal(
        "last_block", "everywhere / where asked", at_least=1.25
    ),
    "A training started again makes an update within 5 s": Goal(
        "relaunch", "warm start to first update, s", at_most=5.0
    ),
    "Checkpoints block at most 0.01 of a training's time": Goal(
        "overhead", "blocked by checkpoints, share", at_most=0.01
    ),
    "Logging takes at most 0.01 of a training's time": Goal(
        "overhead", "logging, share", at_most=0.01
    ),
    "A max margin of single next tokens is found twice as fast as by liblinear": Goal(
        "max_margin", "liblinear / ours", at_least=2.0, only={"support_size": (1,)}
    ),
    "The max margin at V = 1,000 is found within 60 s": _once(
        "max_margin", "ours, compilation included, s", 60.0, vocab_size=1000
    ),
    "A verdict on separability at V = 5,000 takes at most 30 CPU s": _once(
        "max_margin", "verdict, CPU s", 30.0, vocab_size=5000
    ),
    "A form v'Hv takes at most 1.1 gradients": _gradients("form", 1.1),
    "A product H v takes at most 2.2 gradients": _gradients("hvp", 2.2),
    "A product G v takes at most 1.6 gradients": _gradients("ggn", 1.6),
    **{
        f"Half the time of a peer: {ratio}": Goal("curvature_peers", ratio, at_least=2.0)
        for _, ratio in PAIRS.values()
    },
    "A Fisher trace by the paper's protocol takes at most ten minutes": _once(
        "fisher", "trace of 10,000 contexts, s", 600.0
    ),
    "Curvature is within the memory of a training step": Goal(
        "curvature",
        "memory / training step",
        at_most=1.0,
        by_rounds=False,
        only={"product": ("form", "hvp", "ggn")},
    ),
}


class Line(NamedTuple):
    """A goal for one case of a plan, and its claim."""

    text: str
    goal: Goal
    case: str
    where: Where
    claim: Claim


def lines_of(scale: str) -> list[Line]:
    """Every goal, for every case of the scale's plan that it bounds."""
    lines = []
    for text, goal in GOALS.items():
        for case, factors in sorted(BENCHMARKS[goal.benchmark].plans[scale][0].items()):
            if all(factors.get(factor) in levels for factor, levels in goal.only.items()):
                where = {"benchmark": goal.benchmark, **factors}
                lines.append(Line(text, goal, case, where, _claim(text, goal, case, where)))
    return lines


def _claim(text: str, goal: Goal, case: str, where: Where) -> Claim:
    return (median if goal.by_rounds else number)(
        f"{text} ({case})",
        goal.quantity,
        where,
        at_least=goal.at_least,
        at_most=goal.at_most,
        paper=str(goal),
        source="a goal of ours",
    )


CLAIMS = {scale: [line.claim for line in lines_of(scale)] for scale in ("cpu", "gpu")}
