"""Claims on what a seed of the other experiments stands for.

There a seed draws data and network together, and intervals are over both. If data sets differ, runs
on one of them, as in the paper, have intervals that are too short.
"""

import math

import pandas as pd

from experiments.el_copy_variance.parts import parts
from experiments.el_copy_variance.settings import HARD, SEEDS_PER_DATA, SETTINGS
from experiments.harness.claims import Claim, Wording, judge
from experiments.harness.statistics import CONFIDENCE

OURS = "not in the paper"
HALF = 0.5


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [claim for setting in SETTINGS for claim in _of_setting(results, setting)]


def _of_setting(results: pd.DataFrame, setting: str) -> list[Claim]:
    there = Wording(
        text=f"{setting}: data sets differ in the accuracy on unseen hard strings that networks "
        "reach on them",
        source=OURS, paper_value="one data set",
    )  # fmt: skip
    most = Wording(
        text=f"{setting}: most of the variance of a run is the network's, not the data's",
        source=OURS, paper_value="",
    )  # fmt: skip
    found = parts(results, setting, HARD)
    if found is None:
        missing = f"not measured: two data sets with {SEEDS_PER_DATA} networks each that vary"
        return [Claim(**there, detail=missing), Claim(**most, detail=missing)]
    shown = (
        f"share {found.share:.2f}: standard deviation {found.between:.2f} between data sets, "
        f"{found.within:.2f} between networks"
    )
    detail = (
        f"share of the data sets {found.share:+.3f}, {CONFIDENCE:.0%} interval "
        f"[{found.low:+.3f}, {found.high:+.3f}], {found.num_data_sets} data sets"
    )
    return [
        Claim(
            **there, ours=shown, detail=detail, p=found.p,
            verdict=judge(holds=found.low > 0, fails=found.high < 0),
        ),
        Claim(
            **most, ours=shown, detail=detail, p=math.nan,
            verdict=judge(holds=found.high < HALF, fails=found.low > HALF),
        ),
    ]  # fmt: skip
