"""Lemma 4.2 of Liu, Xie, Li, Ma (2023): at saturation, before it, and where there is none."""

import pandas as pd

from experiments.flat_bartlett.settings import (
    BLIND,
    NARROW,
    PAPER_DIVERGENCE,
    SATURATED,
    WIDE,
)
from experiments.harness.claims import Claim, claim_level

LEMMA = "Liu et al. 2023, Lemma 4.2"
ESTIMATOR = "Liu et al. 2023, appendix B.1"
OURS = "not in the paper"
EQUAL = 0.02  # of the Hessian's norm: counts as equal
APART = 0.1  # counts as different
ALIKE = 0.1  # of a trace: what an error bar of Table 2 would hide


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [*_at_the_end(results), *_on_the_way(results), *_wrong(results)]


def _at_the_end(results: pd.DataFrame) -> list[Claim]:
    def level(metric: str, bound: float, text: str, value: str) -> Claim:
        return claim_level(
            results, WIDE, metric, at_most=bound, text=text, source=LEMMA,
            paper_value=value,
        )  # fmt: skip

    return [
        level(
            "divergence", SATURATED,
            f"The wide network comes to saturation, KL at most {SATURATED:g} nats", "0",
        ),
        level(
            "covariance_gap", EQUAL,
            "There the covariance of gradients is the Hessian (distance over ‖H‖ at most "
            f"{EQUAL:g})", "0",
        ),
        level("fisher_gap", EQUAL, "... and so is the Fisher matrix", "0"),
    ]  # fmt: skip


def _on_the_way(results: pd.DataFrame) -> list[Claim]:
    powers = [
        claim_level(
            results, WIDE, f"{name}_power", at_least=0.4, at_most=0.6,
            text=f"The distance of {label} falls as the root of KL (power)",
            source=OURS, paper_value="",
        )
        for name, label in (("covariance", "the covariance"), ("fisher", "the Fisher matrix"))
    ]  # fmt: skip
    traces = [
        claim_level(
            results, WIDE, f"{name}_trace_at_paper", at_least=1 - ALIKE,
            at_most=1 + ALIKE,
            text=f"At the paper's KL of {PAPER_DIVERGENCE:g} nats the trace of {label} is the "
            f"Hessian's within {ALIKE:.0%} (ratio)",
            source=ESTIMATOR, paper_value="taken as equal",
        )
        for name, label in (("fisher", "the Fisher matrix"), ("covariance", "the covariance"))
    ]  # fmt: skip
    before = claim_level(
        results, WIDE, "covariance_gap_at_start", at_least=APART,
        text=f"Before training they are apart (at least {APART:g})", source=OURS, paper_value="",
    )  # fmt: skip
    return [*powers, *traces, before]


def _wrong(results: pd.DataFrame) -> list[Claim]:
    found = []
    for name, label in ((NARROW, "too narrow to be right"), (BLIND, "blind to the order of words")):
        found += [
            claim_level(
                results, name, "gradient", at_most=1e-3,
                text=f"A network {label} comes to a point of no gradient, too",
                source=OURS, paper_value="",
            ),
            claim_level(
                results, name, "covariance_gap", at_least=APART,
                text=f"... and there the covariance is not the Hessian (at least {APART:g})",
                source=OURS, paper_value="the lemma asks for saturation",
            ),
        ]  # fmt: skip
    return found
