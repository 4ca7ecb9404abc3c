"""Stated errors of trace estimators, and the estimators with the least error at equal cost."""

import math

import pandas as pd

from experiments.harness.claims import greater, level

STAGES = ("start", "saturated")
MEYER = "Meyer et al. 2021, Theorem 1"
EPPERLY = "Epperly et al. 2024, section 1"
OURS = "ours"


def derived(results: pd.DataFrame) -> pd.DataFrame:
    """Results, and their means over both stages, which have equally many trials."""
    means = results.groupby(["estimator", "seed", "metric"], as_index=False)["value"].mean()
    return pd.concat([results, means], ignore_index=True)


CLAIMS = [
    *(
        level(
            f"{name}: the stated 95 % interval holds the exact value (share of trials)",
            "coverage",
            {"estimator": name, "stage": None},
            at_least=0.93,
            at_most=0.97,
            paper=".93 to .97",
            source=OURS,
        )
        for name in ("Fisher, sampled labels", "Hutchinson", "Hutch++", "XTrace")
    ),
    *(
        greater(
            f"At equal cost {name} errs less than {worse} (saturated, log of errors)",
            "log_error",
            {"estimator": worse, "stage": "saturated"},
            {"estimator": name, "stage": "saturated"},
            paper=paper,
            source=source,
        )
        for name, worse, source, paper in (
            ("Hutch++", "Hutchinson", MEYER, "O(1/m) against O(1/√m)"),
            ("XTrace", "Hutch++", EPPERLY, "less"),
        )
    ),
    greater(
        "Near saturation the control variate errs less than a third as much as plain "
        "probes at equal cost (all contexts; log of errors, log 3 = 1.10)",
        "log_error",
        {"estimator": "Hutchinson", "stage": "saturated"},
        {"estimator": "controlled", "stage": "saturated"},
        by=math.log(3),
        paper="0 error at saturation",
        source=OURS,
    ),
]
