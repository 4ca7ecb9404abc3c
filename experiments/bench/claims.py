"""Goals of the training engine's speed, as claims on the rounds of each benchmark."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from experiments.bench import labeller
from experiments.bench.curvature_peers import PAIRS
from experiments.harness.claims import Claim, claim_median, claim_number
from experiments.harness.tables import settings_with


class Goal(NamedTuple):
    """A bound on one quantity.

    Attributes:
        text: the goal, a sentence; the case is added to it.
        settings: a regular expression that the beginning of its settings' names matches.
        quantity: the metric that is bounded.
        at_least: the bound, where more is better.
        at_most: the bound, where less is better.
        by_rounds: False for a number that is counted, or measured once.
    """

    text: str
    settings: str
    quantity: str
    at_least: float = -math.inf
    at_most: float = math.inf
    by_rounds: bool = True

    def __str__(self) -> str:
        return f"≥ {self.at_least:g}" if self.at_least > 0 else f"≤ {self.at_most:g}"

    def of_bound(self, value: float) -> float:
        """The value over its bound, or the bound over it: at most 1 where the goal is met."""
        return self.at_least / value if self.at_least > 0 else value / self.at_most


GOALS = (
    Goal(
        "An update takes at most 0.9 of PyTorch's time", "pytorch: .* asked",
        "update / PyTorch", at_most=0.9,
    ),
    Goal(
        "An update of all positions takes at most 0.9 of PyTorch's time", "pytorch: ",
        "update, all positions / PyTorch", at_most=0.9,
    ),
    Goal(
        "An update takes at most 2.5 of the time of its matrix products", "products: ",
        "update / its matrix products", at_most=2.5,
    ),
    Goal(
        "A loss takes at most 1.05 of cross-entropy's time", "losses: ",
        "time / cross-entropy", at_most=1.05,
    ),
    Goal(
        "Without all logits a loss takes at most 0.15 of the memory", "fused: E1, ",
        "memory / plain", at_most=0.15, by_rounds=False,
    ),
    Goal(
        "Runs at once are 1.2 times as fast as one after another", "runs_at_once: CPU, ",
        "one after another / the best of these", at_least=1.2,
    ),
    Goal(
        "Runs at once are 8 times as fast as one after another", "runs_at_once: GPU, ",
        "one after another / the best of these", at_least=8.0,
    ),
    Goal(
        "A last block only where asked is 1.25 times as fast", "last_block: ",
        "everywhere / where asked", at_least=1.25,
    ),
    Goal(
        "A training started again makes an update within 5 s", "relaunch: ",
        "warm start to first update, s", at_most=5.0,
    ),
    Goal(
        "Checkpoints block at most 0.01 of a training's time", "overhead: ",
        "blocked by checkpoints, share", at_most=0.01,
    ),
    Goal(
        "Logging takes at most 0.01 of a training's time", "overhead: ",
        "logging, share", at_most=0.01,
    ),
    Goal(
        "GPT-2 reaches 0.4 of the speed of a product of matrices", "gpt2: ",
        "model FLOPs / those of an 8192 product", at_least=0.4,
    ),
    Goal(
        "The max margin is found 50 times as fast as by Clarabel", "max_margin: V=60, ",
        "Clarabel / ours", at_least=50.0, by_rounds=False,
    ),
    Goal(
        "The max margin at V = 1,000 is found within 60 s", "max_margin: V=1000, ",
        "ours, compilation included, s", at_most=60.0, by_rounds=False,
    ),
    Goal(
        "A form v'Hv takes at most 1.1 gradients", "curvature: v'Hv, ",
        "time / gradient", at_most=1.1,
    ),
    Goal(
        "A product H v takes at most 2.2 gradients", "curvature: H v, ",
        "time / gradient", at_most=2.2,
    ),
    Goal(
        "A product G v takes at most 1.6 gradients", "curvature: G v, ",
        "time / gradient", at_most=1.6,
    ),
    *(
        Goal(f"Half the time of a peer: {ratio}", "curvature_peers: ", ratio, at_least=2.0)
        for _, ratio in PAIRS.values()
    ),
    Goal(
        "A Fisher trace by the paper's protocol takes at most ten minutes", "fisher: 4L/128, ",
        "trace of 10,000 contexts, s", at_most=600.0, by_rounds=False,
    ),
    Goal(
        "Sentences with all conditionals are 100 times as fast as labels in Python", "labeller: ",
        labeller.RATIO, at_least=100.0,
    ),
    Goal(
        "Curvature is within the memory of a training step", "curvature: ",
        "memory / training step", at_most=1.0, by_rounds=False,
    ),
    Goal(
        "Path-star windows come 30 times as fast as one by one in Python", "path_star: ",
        "tokens one by one / windows on the device", at_least=30.0,
    ),
)  # fmt: skip


class Judged(NamedTuple):
    """A goal in one setting, and its claim."""

    goal: Goal
    setting: str
    claim: Claim

    @property
    def case(self) -> str:
        """The setting without the name of the benchmark."""
        return self.setting.partition(": ")[2]


def judge_goals(results: pd.DataFrame, not_measured: Mapping[str, str]) -> Iterator[Judged]:
    """Every goal in every setting that was to be measured.

    Args:
        results: the values by round.
        not_measured: for each setting that could not be measured, the reason.
    """
    for goal in GOALS:
        for setting in sorted(settings_with(results, goal.quantity) | set(not_measured)):
            if re.match(goal.settings, setting):
                yield Judged(goal, setting, _claim(results, goal, setting, not_measured))


def _claim(
    results: pd.DataFrame, goal: Goal, setting: str, not_measured: Mapping[str, str]
) -> Claim:
    case = setting.partition(": ")[2]
    text, source = f"{goal.text} ({case})", "a goal of ours"
    if setting in not_measured:
        return Claim(text, source, str(goal), f"not measured: {not_measured[setting]}")
    judge = claim_median if goal.by_rounds else claim_number
    return judge(
        results, setting, goal.quantity, at_least=goal.at_least, at_most=goal.at_most,
        text=text, source=source, paper_value=str(goal),
    )  # fmt: skip


def claims(results: pd.DataFrame, not_measured: Mapping[str, str]) -> list[Claim]:
    """The claim of every goal, on the settings that the tables have or say why they lack."""
    return [judged.claim for judged in judge_goals(results, not_measured)]
