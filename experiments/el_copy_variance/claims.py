"""Claims on what a seed of the other experiments stands for.

There a seed draws data and network together, and intervals are over both. If data sets differ, runs
on one of them, as in the paper, have intervals that are too short.
"""

import functools
import math

import pandas as pd

from experiments.el_copy_variance.parts import parts
from experiments.el_copy_variance.run import SEEDS_PER_DATA
from experiments.harness.judging import Claim, Outcome, Verdict, verdict_of
from experiments.harness.names import name_of
from experiments.harness.statistics import CONFIDENCE
from experiments.harness.tables import Where

HARD = "test_precise_hard_accuracy"
SETTINGS: tuple[Where, ...] = (
    {"loss": "cross_entropy", "warmup_steps": 0},
    {"loss": "cross_entropy", "warmup_steps": 1000},
    {"loss": "e2", "lam": 4.0, "warmup_steps": 1000},
)
HALF = 0.5


def _judge(results: pd.DataFrame, where: Where, *, most_is_networks: bool) -> Outcome:
    """The data sets' share of the variance is above 0, or that it is below one half."""
    found = parts(results, where, HARD)
    if found is None:
        return Outcome(
            f"two data sets with {SEEDS_PER_DATA} networks each that vary",
            verdict=Verdict.NOT_MEASURED,
        )
    return Outcome(
        f"share of the data sets {found.share:+.3f}, {CONFIDENCE:.0%} interval "
        f"[{found.low:+.3f}, {found.high:+.3f}], {found.num_data_sets} data sets",
        f"share {found.share:.2f}: standard deviation {found.between:.2f} between data sets, "
        f"{found.within:.2f} between networks",
        verdict_of(holds=found.high < HALF, fails=found.low > HALF)
        if most_is_networks
        else verdict_of(holds=found.low > 0, fails=found.high < 0),
        math.nan if most_is_networks else found.p,
    )


CLAIMS = [
    Claim(
        f"{name_of(where)}: {text}",
        functools.partial(_judge, where=where, most_is_networks=most_is_networks),
        paper,
    )
    for where in SETTINGS
    for text, most_is_networks, paper in (
        (
            "data sets differ in the accuracy on unseen hard strings that networks reach on them",
            False,
            "one data set",
        ),
        ("most of the variance of a run is the network's, not the data's", True, ""),
    )
]
