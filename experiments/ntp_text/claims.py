"""Claims of Thrampoulidis (2024) on T-gram entropy and dimensions, tested on real text."""

import math

import pandas as pd

from experiments.harness.claims import Claim, claim_greater, claim_level, claim_trend

LENGTHS = ("T=1", "T=2", "T=3")
RATIOS = (1.0, 1.5, 2.0, 3.0, 4.0)
OURS = "ours; thresholds are an open problem of the paper"
BAG, PLACES = "bag of words, T=2", "one-hot positions, T=2"


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [*_of_lengths(results), *_of_dimensions(results), *_of_words(results)]


def _of_lengths(results: pd.DataFrame) -> list[Claim]:
    return [
        claim_trend(
            results, "entropy", LENGTHS, rising=False,
            text="Entropy falls with the length of a context (T = 1, 2, 3; slope per word)",
            source="Thrampoulidis 2024, Appendix C; Shannon 1951", paper_value="does not rise",
        ),
        claim_trend(
            results, "separable_from", LENGTHS, rising=True,
            text="Longer contexts need more dimensions to be separable (T = 1, 2, 3; d)",
            source=OURS, paper_value="none",
        ),
        claim_trend(
            results, "separable_from_share", LENGTHS, rising=False,
            text="... but fewer for each context, since fewer words follow it (T = 1, 2, 3; d / m)",
            source=OURS, paper_value="none",
        ),
    ]  # fmt: skip


def _of_dimensions(results: pd.DataFrame) -> list[Claim]:
    return [
        *(claim_level(
            results, setting, "separable_from_share", at_most=0.75,
            text=f"Random embeddings separate text well below d = m ({setting}; d / m)",
            source=OURS, paper_value="d > m suffices (Lemma 1)",
        ) for setting in LENGTHS),
        *(claim_level(
            results, setting, "separable_after_compatible", at_least=0.0,
            text=f"Text becomes compatible before it becomes separable ({setting}; d / m between)",
            source=OURS, paper_value="none",
        ) for setting in LENGTHS),
        claim_trend(
            results, "margin_share", [f"T=2, d={ratio:g}m" for ratio in RATIOS], rising=True,
            positions=[math.log2(ratio) for ratio in RATIOS],
            text="The margin grows with d / m towards that of orthonormal embeddings (T = 2, "
            "d = m to 4 m; share of it, slope per doubling)",
            source=OURS, paper_value="none",
        ),
        claim_trend(
            results, "margin", [f"{setting}, d=2m" for setting in LENGTHS], rising=False,
            text="The margin falls as longer contexts bring more of them (T = 1, 2, 3, d = 2 m)",
            source=OURS, paper_value="none",
        ),
        *(claim_level(
            results, setting, "undecided_share", at_most=0.0,
            text=f"Every verdict has a certificate ({setting}; share undecided)",
            source="ours", paper_value="0",
        ) for setting in LENGTHS),
    ]  # fmt: skip


def _of_words(results: pd.DataFrame) -> list[Claim]:
    return [
        claim_greater(
            results, "separable", PLACES, BAG,
            text="Bags of words lose a separability that one-hot positions have (T = 2; share of "
            "passages)",
            source=OURS, paper_value="none",
        ),
        claim_greater(
            results, "entropy", BAG, PLACES,
            text="Order is worth entropy: bags of words have more than one-hot positions (T = 2)",
            source="conditioning; ours", paper_value="0 or more",
        ),
    ]  # fmt: skip
