"""Theorems of Thrampoulidis (2024) on the two conditions, and the predictions of counting."""

import pandas as pd

from experiments.harness.claims import Claim, claim_greater, claim_level

POOLED = "all sizes"
SMALL, LARGE = "V=6, S=2, m=24", "V=6, S=2, m=48"
LARGEST = (LARGE, "V=10, S=3, m=48", "V=10, S=6, m=48")  # of the cpu scale
OURS = "ours; exact thresholds are an open problem of the paper"


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [*_of_every_size(results), *_separability(results)]


def _of_every_size(results: pd.DataFrame) -> list[Claim]:
    return [
        claim_level(
            results, POOLED, "compatible_above_count", at_least=0.0,
            text="Data become compatible no earlier than the unknowns d (V − 1) reach the "
            "equations m (S − 1) (d above that, the least over sizes)",
            source="counting, necessary for generic probabilities", paper_value="0 or more",
        ),
        claim_level(
            results, POOLED, "both_at_m", at_least=1.0,
            text="Both conditions hold in every problem with d = m, of every size",
            source="Thrampoulidis 2024, Lemma 1", paper_value="1 for d > m; its proof needs d = m",
        ),
        claim_level(
            results, POOLED, "undecided_share", at_most=0.0,
            text="Every verdict has a certificate (share undecided, the largest over sizes)",
            source="ours", paper_value="0",
        ),
    ]  # fmt: skip


def _separability(results: pd.DataFrame) -> list[Claim]:
    text = f"Data become separable near d = .55 m ({SMALL})"
    return [
        claim_level(
            results, SMALL, "separable_from", at_least=0.50,
            text=f"{text}: not before .50", source=OURS, paper_value="below 1",
        ),
        claim_level(
            results, SMALL, "separable_from", at_most=0.60,
            text=f"{text}: by .60", source=OURS, paper_value="below 1",
        ),
        *(claim_level(
            results, setting, "separable_above_cover_count", at_most=0.0,
            text="Data become separable before the unknowns that (6a) leaves are half as many as "
            f"the inequalities (6b) ({setting}; difference in d / m)",
            source="Cover 1965, by analogy; " + OURS, paper_value="0 for S = 1, V = 2",
        ) for setting in LARGEST),
        claim_greater(
            results, "separable_from", "V=10, S=6, m=48", "V=10, S=3, m=48",
            text="Larger supports need more dimensions to be separable (V = 10: S = 6 against 3)",
            source=OURS, paper_value="none",
        ),
        claim_greater(
            results, "separable_spread", SMALL, LARGE,
            text="The transition to separability sharpens with m (distance of a problem from the "
            "median, m = 24 against 48)",
            source=OURS, paper_value="none",
        ),
    ]  # fmt: skip
