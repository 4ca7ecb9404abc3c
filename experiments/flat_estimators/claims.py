"""Stated errors of trace estimators, and which of them err least at equal cost."""

import math

import pandas as pd

from experiments.flat_estimators.estimators import ESTIMATORS
from experiments.harness.claims import contrast, greater, level
from experiments.harness.judging import Claim

STAGES = ("start", "saturated")
LEMMA = "Liu et al. 2023, Lemma 4.2"
MEYER = "Meyer et al. 2021, Theorem 1"
EPPERLY = "Epperly et al. 2024, section 1"
OURS = "ours"


def derived(results: pd.DataFrame) -> pd.DataFrame:
    """Results, and without a stage their means over both, which have as many trials."""
    means = results.groupby(["estimator", "seed", "metric"], as_index=False)["value"].mean()
    return pd.concat([results, means], ignore_index=True)


def _stated(name: str) -> list[Claim]:
    where = {"estimator": name, "stage": None}
    return [
        level(
            f"{name}: within 3 stated errors of the exact value (share of trials)",
            "within_3",
            where,
            at_least=0.99,
            paper="at least .99",
            source=OURS,
        ),
        level(
            f"{name}: the stated 95 % interval holds the exact value (share of trials)",
            "coverage",
            where,
            at_least=0.93,
            at_most=0.97,
            paper=".93 to .97",
            source=OURS,
        ),
        level(
            f"{name}: no bias (mean error over the exact value)",
            "bias",
            where,
            at_least=-0.02,
            at_most=0.02,
            paper="0",
            source=OURS,
        ),
    ]


def _at_equal_cost() -> list[Claim]:
    plain, controlled = {"estimator": "Hutchinson"}, {"estimator": "controlled"}
    start, saturated = ({"stage": stage} for stage in STAGES)
    return [
        *(
            greater(
                f"At equal cost {name} errs less than {worse} ({stage}, log of errors)",
                "log_error",
                {"estimator": worse, "stage": stage},
                {"estimator": name, "stage": stage},
                paper=paper,
                source=source,
            )
            for stage in STAGES
            for name, worse, source, paper in (
                ("Hutch++", "Hutchinson", MEYER, "O(1/m) against O(1/√m)"),
                ("XTrace", "Hutch++", EPPERLY, "less"),
            )
        ),
        greater(
            "Near saturation the control variate errs less than a third as much as plain "
            "probes at equal cost (all contexts; log of errors, log 3 = 1.10)",
            "log_error",
            plain | saturated,
            controlled | saturated,
            by=math.log(3),
            paper="0 error at saturation",
            source=OURS,
        ),
        contrast(
            "... and away from it its lead is smaller (lead near saturation less that at the "
            "start, log of errors)",
            "log_error",
            [
                (1.0, plain | saturated),
                (-1.0, controlled | saturated),
                (-1.0, plain | start),
                (1.0, controlled | start),
            ],
            paper="less",
            source=OURS,
        ),
        greater(
            "With drawn labels it leads, too, where plain probes are used for each example "
            "(saturated, equal cost, log of errors)",
            "log_error",
            {"estimator": "examples"} | saturated,
            {"estimator": "controlled examples"} | saturated,
            paper="less",
            source=OURS,
        ),
    ]


CLAIMS = [
    *(claim for name in ESTIMATORS for claim in _stated(name)),
    level(
        "Near saturation the trace of the Fisher matrix is that of the Hessian (gap)",
        "fisher_gap",
        {"stage": "saturated"},
        at_most=0.02,
        paper="0 at saturation",
        source=LEMMA,
    ),
    level(
        "... and at the start it is not (gap)",
        "fisher_gap",
        {"stage": "start"},
        at_least=0.02,
        paper="not stated",
        source=LEMMA,
    ),
    *_at_equal_cost(),
]
