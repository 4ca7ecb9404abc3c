"""Lemma 4.2 of Liu, Xie, Li, Ma (2023): at saturation, before it, and where there is none."""

from experiments.flat_bartlett.run import BLIND, NARROW, PAPER_DIVERGENCE, WIDE
from experiments.harness.claims import level
from experiments.harness.judging import Claim

LEMMA = "Liu et al. 2023, Lemma 4.2"
ESTIMATOR = "Liu et al. 2023, appendix B.1"
EQUAL = 0.02  # share of the Hessian's norm that counts as equal
APART = 0.1  # counts as different
ALIKE = 0.1  # share of a trace that an error bar of Table 2 would hide
LOOKS = {"cpu": 2}  # at the first look, with 8 worlds, one of seven was undecided
LABELS = {"covariance": "the covariance", "fisher": "the Fisher matrix"}


def _wrong(where: dict[str, object], label: str) -> Claim:
    return level(
        f"Where a network {label} has no gradient the covariance is not the Hessian (at least "
        f"{APART:g})",
        "covariance_gap",
        where,
        at_least=APART,
        paper="the lemma asks for saturation",
    )


CLAIMS = [
    level(
        f"At saturation the covariance of gradients is the Hessian (over ‖H‖, at most {EQUAL:g})",
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
    level(
        "The distance of the covariance falls as the root of KL (power)",
        "covariance_power",
        WIDE,
        at_least=0.4,
        at_most=0.6,
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
    _wrong(NARROW, "too narrow to be right"),
    _wrong(BLIND, "blind to the order of words"),
]
