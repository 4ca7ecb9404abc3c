"""Lemma 4.2 of Liu, Xie, Li, Ma (2023): at saturation, before it, and where there is none."""

from experiments.flat_bartlett.run import BLIND, NARROW, PAPER_DIVERGENCE, WIDE
from experiments.harness.claims import level
from experiments.harness.judging import Claim

LEMMA = "Liu et al. 2023, Lemma 4.2"
ESTIMATOR = "Liu et al. 2023, appendix B.1"
SATURATED = 1e-4  # nats, below which a network counts as right
EQUAL = 0.02  # of the Hessian's norm: counts as equal
APART = 0.1  # counts as different
ALIKE = 0.1  # of a trace: what an error bar of Table 2 would hide
LABELS = {"covariance": "the covariance", "fisher": "the Fisher matrix"}


def _wrong(where: dict[str, object], label: str) -> list[Claim]:
    return [
        level(
            f"A network {label} comes to a point of no gradient, too",
            "gradient",
            where,
            at_most=1e-3,
        ),
        level(
            f"... and there the covariance is not the Hessian (at least {APART:g})",
            "covariance_gap",
            where,
            at_least=APART,
            paper="the lemma asks for saturation",
        ),
    ]


CLAIMS = [
    level(
        f"The wide network comes to saturation, KL at most {SATURATED:g} nats",
        "divergence",
        WIDE,
        at_most=SATURATED,
        paper="0",
        source=LEMMA,
    ),
    level(
        f"There the covariance of gradients is the Hessian (distance over ‖H‖ at most {EQUAL:g})",
        "covariance_gap",
        WIDE,
        at_most=EQUAL,
        paper="0",
        source=LEMMA,
    ),
    level(
        "... and so is the Fisher matrix",
        "fisher_gap",
        WIDE,
        at_most=EQUAL,
        paper="0",
        source=LEMMA,
    ),
    *(
        level(
            f"The distance of {LABELS[name]} falls as the root of KL (power)",
            f"{name}_power",
            WIDE,
            at_least=0.4,
            at_most=0.6,
        )
        for name in ("covariance", "fisher")
    ),
    *(
        level(
            f"At the paper's KL of {PAPER_DIVERGENCE:g} nats the trace of {LABELS[name]} is the "
            f"Hessian's within {ALIKE:.0%} (ratio)",
            f"{name}_trace_at_paper",
            WIDE,
            at_least=1 - ALIKE,
            at_most=1 + ALIKE,
            paper="taken as equal",
            source=ESTIMATOR,
        )
        for name in ("fisher", "covariance")
    ),
    level(
        f"Before training they are apart (at least {APART:g})",
        "covariance_gap_at_start",
        WIDE,
        at_least=APART,
    ),
    *_wrong(NARROW, "too narrow to be right"),
    *_wrong(BLIND, "blind to the order of words"),
]
