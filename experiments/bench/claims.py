"""Goals of the training engine's speed, as claims on the rounds of each benchmark."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from experiments.bench.curvature_peers import PAIRS
from experiments.harness.claims import Claim, claim_median, claim_number
from experiments.harness.tables import settings_with


class Goal(NamedTuple):
    """A bound on one quantity.

    Attributes:
        settings: a regular expression that the beginning of its settings' names matches.
        quantity: the metric that is bounded.
        at_least: the bound, where more is better.
        at_most: the bound, where less is better.
        by_rounds: False for a number that is counted, or measured once.
    """

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


# the goal, a sentence to which the case is added -> what it bounds
GOALS = {
    "An update takes at most 0.9 of PyTorch's time": Goal(
        "pytorch: .* asked", "update / PyTorch", at_most=0.9
    ),
    "An update of all positions takes at most 0.9 of PyTorch's time": Goal(
        "pytorch: ", "update, all positions / PyTorch", at_most=0.9
    ),
    "An update takes at most 2.5 of the time of its matrix products": Goal(
        "products: ", "update / its matrix products", at_most=2.5
    ),
    "A loss takes at most 1.05 of cross-entropy's time": Goal(
        "losses: ", "time / cross-entropy", at_most=1.05
    ),
    "Without all logits a loss takes at most 0.15 of the memory": Goal(
        "fused: E1, ", "memory / plain", at_most=0.15, by_rounds=False
    ),
    "Runs at once are 1.2 times as fast as one after another": Goal(
        "runs_at_once: CPU, ", "one after another / the best of these", at_least=1.2
    ),
    "Runs at once are 8 times as fast as one after another": Goal(
        "runs_at_once: GPU, ", "one after another / the best of these", at_least=8.0
    ),
    "A last block only where asked is 1.25 times as fast": Goal(
        "last_block: ", "everywhere / where asked", at_least=1.25
    ),
    "A training started again makes an update within 5 s": Goal(
        "relaunch: ", "warm start to first update, s", at_most=5.0
    ),
    "Checkpoints block at most 0.01 of a training's time": Goal(
        "overhead: ", "blocked by checkpoints, share", at_most=0.01
    ),
    "Logging takes at most 0.01 of a training's time": Goal(
        "overhead: ", "logging, share", at_most=0.01
    ),
    "GPT-2 reaches 0.4 of the speed of a product of matrices": Goal(
        "gpt2: ", "model FLOPs / those of an 8192 product", at_least=0.4
    ),
    "The max margin is found 50 times as fast as by Clarabel": Goal(
        "max_margin: V=60, ", "Clarabel / ours", at_least=50.0, by_rounds=False
    ),
    "The max margin at V = 1,000 is found within 60 s": Goal(
        "max_margin: V=1000, ", "ours, compilation included, s", at_most=60.0, by_rounds=False
    ),
    "A form v'Hv takes at most 1.1 gradients": Goal(
        "curvature: v'Hv, ", "time / gradient", at_most=1.1
    ),
    "A product H v takes at most 2.2 gradients": Goal(
        "curvature: H v, ", "time / gradient", at_most=2.2
    ),
    "A product G v takes at most 1.6 gradients": Goal(
        "curvature: G v, ", "time / gradient", at_most=1.6
    ),
    **{
        f"Half the time of a peer: {ratio}": Goal("curvature_peers: ", ratio, at_least=2.0)
        for _, ratio in PAIRS.values()
    },
    "A Fisher trace by the paper's protocol takes at most ten minutes": Goal(
        "fisher: 4L/128, ", "trace of 10,000 contexts, s", at_most=600.0, by_rounds=False
    ),
    "Sentences with all conditionals are 100 times as fast as labels in Python": Goal(
        "labeller: ", "labels in Python / sentences, conditionals and labels", at_least=100.0
    ),
    "Curvature is within the memory of a training step": Goal(
        "curvature: ", "memory / training step", at_most=1.0, by_rounds=False
    ),
    "Path-star windows come 30 times as fast as one by one in Python": Goal(
        "path_star: ", "tokens one by one / windows on the device", at_least=30.0
    ),
}


class Judged(NamedTuple):
    """A goal in one setting, and its claim."""

    text: str
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
    for text, goal in GOALS.items():
        for setting in sorted(settings_with(results, goal.quantity) | set(not_measured)):
            if re.match(goal.settings, setting):
                of_case = f"{text} ({setting.partition(': ')[2]})"
                reason = not_measured.get(setting, "")
                claim = _claim(results, of_case, goal, setting, reason)
                yield Judged(text, goal, setting, claim)


def _claim(results: pd.DataFrame, text: str, goal: Goal, setting: str, reason: str) -> Claim:
    source = "a goal of ours"
    if reason:
        return Claim(text, source, str(goal), f"not measured: {reason}")
    judge = claim_median if goal.by_rounds else claim_number
    return judge(
        results,
        setting,
        goal.quantity,
        at_least=goal.at_least,
        at_most=goal.at_most,
        text=text,
        source=source,
        paper_value=str(goal),
    )


def claims(results: pd.DataFrame, not_measured: Mapping[str, str]) -> list[Claim]:
    """The claim of every goal, on the settings that the tables have or say why they lack."""
    return [judged.claim for judged in judge_goals(results, not_measured)]
