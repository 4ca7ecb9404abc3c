"""Theorem 6.1 of Liu, Xie, Li, Ma (2023) in parts, on enumerated inputs."""

import pandas as pd

from experiments.flat_dyck.run import TRAINED
from experiments.harness.claims import greater, level, number
from experiments.harness.judging import Claim

PAPER = "Liu et al. 2023"
BOUND = f"{PAPER}, Lemma D.1"
THEOREM = f"{PAPER}, Theorem 6.1"
ROUNDING = 1e-6  # of ratios of traces
BALANCE, KINKED = {"net": "balance neurons"}, {"net": "kinked neurons"}  # of every length
RANDOM, ENUMERATED, PENALTY = {"net": "random features"}, {"net": None}, {"net": "penalty"}


def derived(results: pd.DataFrame) -> pd.DataFrame:
    """Results of nets that fit, and solution 1's transfer averaged over lengths."""
    gaps = results[results["metric"].str.startswith("probability_gap_n")]
    means = gaps.groupby(["net", "seed", "metric"], as_index=False)["value"].mean()
    return pd.concat([fitting(results), means], ignore_index=True)


def fitting(results: pd.DataFrame) -> pd.DataFrame:
    """The results without trained nets that do not fit."""
    net = ["net", "length", "width", "seed"]
    of_net = (results["metric"] == "fits") & results["width"].notna()
    failed = results[of_net & (results["value"] < 1)]
    every, left_out = (pd.MultiIndex.from_frame(frame[net]) for frame in (results, failed))
    return results[~every.isin(left_out)]


_CONSTRUCTED = [
    number(
        "Solution 1 attains the bound (2 E ‖∇f‖² over 4 / √T, every T)",
        "trace_ratio",
        BALANCE,
        at_least=1 - ROUNDING,
        at_most=1 + ROUNDING,
        paper="1",
        source=BOUND,
    ),
    level(
        "Solution 1 transfers from n = 5 samples with the probability that both signs of the "
        "balance occur, 1 − 2 ((1 + p)/2)^n + p^n (difference, mean over T)",
        "probability_gap_n5",
        BALANCE | {"length": None},
        at_least=-0.03,
        at_most=0.03,
        paper="1 less a term exponential in n",
        source=THEOREM,
    ),
    number(
        "Random features do not transfer from 10 samples (share of samples without error, every T)",
        "share_exact_n10",
        RANDOM,
        at_most=0.05,
        paper="memorise the masked sentences",
        source=f"{PAPER}, section 6, main intuitions",
    ),
    number(
        "All neurons of a net that attains the bound read the balance of the brackets "
        "(share of the neurons enumerated, T = 4 and 6)",
        "share_reading_balance",
        ENUMERATED,
        at_least=1,
        paper="1",
        source=f"{PAPER}, Lemma D.3",
    ),
    number(
        "The kinked neurons, which attain the bound if relu'(0) = 0, transfer (squared error "
        "of the best head, every T)",
        "best_error",
        KINKED,
        at_most=1e-9,
        paper="0",
        source=THEOREM,
    ),
]


def _trained(length: int) -> list[Claim]:
    return [
        number(
            "No trained net of zero loss has a smaller trace (over 4 / √T, every net)",
            "trace_ratio",
            {"net": "plain", "length": length},
            at_least=1 - ROUNDING,
            paper="at least 1",
            source=BOUND,
        ),
        level(
            "A penalty on the trace leads to transfer (squared error of the best head; kinked "
            "neurons: .088)",
            "best_error",
            PENALTY | {"length": None},
            at_most=0.01,
            paper="0",
            source=THEOREM,
        ),
        greater(
            "Training with label noise lowers the error of the best head",
            "best_error",
            {"net": "plain", "length": None},
            {"net": "label noise", "length": None},
            paper="lower",
            source=f"{PAPER}, section 4",
        ),
    ]


CLAIMS = {scale: [*_CONSTRUCTED, *_trained(length)] for scale, (length, *_) in TRAINED.items()}
