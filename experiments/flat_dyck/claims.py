"""Theorem 6.1 of Liu, Xie, Li, Ma (2023) in parts, on enumerated inputs."""

import pandas as pd

from experiments.flat_dyck.run import TRAINED
from experiments.flat_dyck.training import TRAININGS
from experiments.harness.claims import greater, level, number
from experiments.harness.judging import Claim
from experiments.harness.tables import Where

PAPER = "Liu et al. 2023"
BOUND = f"{PAPER}, Lemma D.1"
THEOREM = f"{PAPER}, Theorem 6.1"
OURS = "ours"
ROUNDING = 1e-6  # of ratios of traces
# a step of 1e-6 leaves a pre-activation in some hundreds below the 1e-9 that counts as 0
OFF_KINKS = 0.01
BALANCE, KINKED = {"net": "balance neurons"}, {"net": "kinked neurons"}  # of every length
RANDOM, ENUMERATED, PENALTY = {"net": "random features"}, {"net": None}, {"net": "penalty"}


def derived(results: pd.DataFrame) -> pd.DataFrame:
    """Results of nets that fit, and the means over lengths of how solution 1 transfers."""
    gaps = results[results["metric"].str.startswith("probability_gap_n")]
    means = gaps.groupby(["net", "seed", "metric"], as_index=False)["value"].mean()
    return pd.concat([fitting(results), means], ignore_index=True)


def fitting(results: pd.DataFrame) -> pd.DataFrame:
    """The results without those of trained nets that do not fit."""
    net = ["net", "length", "width", "seed"]
    of_net = (results["metric"] == "fits") & results["width"].notna()
    failed = results[of_net & (results["value"] < 1)]
    every, left_out = (pd.MultiIndex.from_frame(frame[net]) for frame in (results, failed))
    return results[~every.isin(left_out)]


def _equal(
    text: str, metric: str, where: Where, value: float, *, source: str = OURS, within: float
) -> Claim:
    return number(
        text,
        metric,
        where,
        at_least=value - within,
        at_most=value + within,
        paper="none" if source == OURS else f"{value}",
        source=source,
    )


def _bound(length: int) -> list[Claim]:
    """Of random features of every length, and of the nets that were trained at one."""
    nets: list[Where] = [RANDOM, *({"net": name, "length": length} for name in TRAININGS)]
    return [
        _equal(
            "Solution 1 attains the bound (2 E ‖∇f‖² over 4 / √T, every T)",
            "trace_ratio",
            BALANCE,
            1,
            source=BOUND,
            within=ROUNDING,
        ),
        _equal(
            "... and so does the trace of its Hessian by automatic differentiation",
            "hessian_ratio",
            BALANCE,
            1,
            source=f"{PAPER}, Lemma D.4",
            within=ROUNDING,
        ),
        *(
            number(
                f"No net of zero loss has a smaller trace: {where['net']} (over 4 / √T, every net)",
                "trace_ratio",
                where,
                at_least=1 - ROUNDING,
                paper="at least 1",
                source=BOUND,
            )
            for where in nets
        ),
    ]


_SOLUTIONS = [
    *(
        level(
            f"Solution 1 transfers from n = {n} samples with the probability that both "
            "signs of the balance occur, 1 − 2 ((1 + p)/2)^n + p^n (difference, mean over T)",
            f"probability_gap_n{n}",
            BALANCE | {"length": None},
            at_least=-0.03,
            at_most=0.03,
            paper="1 less a term exponential in n",
            source=THEOREM,
        )
        for n in (2, 5, 20)
    ),
    number(
        "Random features fit pre-training (squared error, every T)",
        "loss",
        RANDOM,
        at_most=1e-10,
        paper="0 for m large enough",
        source=f"{PAPER}, Theorem D.6",
    ),
    number(
        "Random features do not transfer from 10 samples (share of samples without error, every T)",
        "share_exact_n10",
        RANDOM,
        at_most=0.05,
        paper="memorise the masked sentences",
        source=f"{PAPER}, section 6, main intuitions",
    ),
]

_KINKED = [
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
        "They belong to four families (neurons of others)",
        "neurons_other",
        ENUMERATED,
        at_most=0,
        paper="two families",
        source=OURS,
    ),
    _equal(
        "The kinked neurons attain the bound if relu'(0) = 0 (over 4 / √T, every T)",
        "trace_ratio",
        KINKED,
        1,
        within=ROUNDING,
    ),
    number(
        "So they transfer (squared error of the best head, every T)",
        "best_error",
        KINKED,
        at_most=1e-9,
        paper="0",
        source=THEOREM,
    ),
    _equal(
        "Off the kinks, at a distance of 1e-6, the Hessian's trace is 5/4 of the bound "
        "(by automatic differentiation, T = 4 and 6)",
        "nearby_ratio",
        KINKED,
        1.25,
        within=OFF_KINKS,
    ),
    _equal(
        "... and that of solution 1 is the bound",
        "nearby_ratio",
        BALANCE,
        1,
        within=ROUNDING,
    ),
]

_TRAINED = [
    *(
        level(
            f"Of the nets of one seed the flatter have smaller errors ({words}, "
            f"{nets}; Spearman's correlation with the trace)",
            f"rank_correlation_{metric}",
            {"net": nets},
            at_least=0,
            paper="the flattest transfers",
            source=THEOREM,
        )
        for nets in ("trained", "trained without penalty")
        for metric, words in (("best_error", "best head"), ("median_n20", "20 samples"))
    ),
    *(
        greater(
            f"Training with {name} lowers {words}",
            metric,
            {"net": "plain", "length": None},
            {"net": name, "length": None},
            paper="lower",
            source=source,
        )
        for name, source in (("label noise", f"{PAPER}, section 4"), ("penalty", THEOREM))
        for metric, words in (
            ("trace_ratio", "the trace"),
            ("best_error", "the error of the best head"),
            ("median_n20", "the error of a head from 20 samples"),
        )
    ),
    level(
        "A penalty on the trace leads to the bound (over 4 / √T)",
        "trace_ratio",
        PENALTY | {"length": None},
        at_most=1.05,
        paper="1",
        source=BOUND,
    ),
    level(
        "... and to transfer (squared error of the best head; kinked neurons: .088)",
        "best_error",
        PENALTY | {"length": None},
        at_most=0.01,
        paper="0",
        source=THEOREM,
    ),
]

CLAIMS = {
    scale: [*_bound(length), *_SOLUTIONS, *_KINKED, *_TRAINED]
    for scale, (length, *_) in TRAINED.items()
}
