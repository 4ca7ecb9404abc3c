"""The settings of this experiment, by context and width."""

import pandas as pd

from experiments.harness.tables import with_parts

PREFIX = "cross-entropy, context "
HARD_ACCURACY = "test_precise_hard_accuracy"


def by_context(results: pd.DataFrame) -> dict[int, dict[int, str]]:
    """The settings with a measured accuracy: context -> width -> setting, both ascending."""
    measured = results[results["metric"] == HARD_ACCURACY]
    found = with_parts(measured, rf"{PREFIX}(?P<context>\d+), width (?P<width>\d+)")
    return {
        context: dict(zip(rows["width"], rows["setting"], strict=True))
        for context, rows in found.sort_values("width").groupby("context")
    }


def distances(results: pd.DataFrame) -> pd.DataFrame:
    """The distance of each accuracy to the median of its setting, a measure of its spread."""
    measured = results[results["metric"] == HARD_ACCURACY]
    middle = measured.groupby("setting")["value"].transform("median")
    return measured.assign(value=(measured["value"] - middle).abs())
