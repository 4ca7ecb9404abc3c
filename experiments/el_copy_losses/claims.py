"""Claims of Yang et al. (2025) on the E-losses on the copy task, at the strengths they name.

The paper contradicts itself about the strings its numbers are for. Table 3 is captioned "easy",
yet its text calls that subset the key to generalisation, and reports warm-up alone, 0.246, as
slightly better than cross-entropy, whose 0.3 the text gives for easy strings. Table 3 is compared
with the hard strings here; the 0.3 is quoted with the group the paper names. The paper's L_p is
2000 and its width 1024. A number of the paper is the bound of its claim.
"""

import pandas as pd

from experiments.harness.claims import Claim, claim_greater, claim_level
from experiments.harness.tables import settings_with

HARD = "test_precise_hard_accuracy"  # 10,000 strings
EXACT = "test_precise_hard_exact_match"
TRAIN = "train_hard_accuracy"
WARM = ", warm-up"
CE, CE_WARM_UP = "cross-entropy", f"cross-entropy{WARM}"
E1, E2, E3 = "E1 λ=4", "E2 λ=10", "E3 b=1"  # Table 3, Figure 4; the paper names no b
FIGURE_4, FIGURE_5 = "Yang et al. 2025, Figure 4", "Yang et al. 2025, Figure 5"
TABLE_3, SECTION = "Yang et al. 2025, Table 3", "Yang et al. 2025, section 4.1"
COPIES, FAILS = 0.99, 0.4  # the paper's 1.00; its .3 and .246 with room for their spread


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv; those on settings that were not trained are left out."""
    known = settings_with(results, HARD)
    found = [
        *_cross_entropy(results),
        *_levels(results, known),
        *_against_both_controls(results, known),
    ]
    many = sorted({name.partition(WARM)[2] for name in known if name.endswith("V=500")} - {""})
    return [*found, *(claim for suffix in many for claim in _many_letters(results, suffix))]


def _cross_entropy(results: pd.DataFrame) -> list[Claim]:
    return [
        claim_level(
            results, CE, TRAIN, at_least=0.99,
            text="Cross-entropy fits the hard training strings",
            source=FIGURE_4, paper_value="1.00",
        ),
        claim_level(
            results, CE, HARD, at_most=FAILS,
            text="Cross-entropy does not copy unseen hard strings",
            source=FIGURE_4, paper_value="about 0.3 (said of easy strings)",
        ),
        claim_level(
            results, CE_WARM_UP, HARD, at_most=FAILS,
            text="Nor does it with warm-up",
            source=TABLE_3, paper_value="0.246",
        ),
    ]  # fmt: skip


def _levels(results: pd.DataFrame, known: set[str]) -> list[Claim]:
    """The numbers the paper gives for single settings."""
    below = [("E1 λ=2", FAILS, "0.08")]
    above = [
        (E1, 0.593, TABLE_3, "0.593"),
        (f"{E1}{WARM}", 0.78, TABLE_3, "0.780"),
        (f"E1 λ=8{WARM}", 0.693, TABLE_3, "0.693"),
        (f"{E2}{WARM}", COPIES, FIGURE_4, "1.00"),
    ]
    return [
        *(
            claim_level(
                results, setting, HARD, at_most=bound,
                text=f"{setting} without warm-up does not copy them",
                source=TABLE_3, paper_value=value,
            )
            for setting, bound, value in below
            if setting in known
        ),
        *(
            claim_level(
                results, setting, HARD, at_least=bound,
                text=f"{setting} is right on {value} of them, or more",
                source=source, paper_value=value,
            )
            for setting, bound, source, value in above
            if setting in known
        ),
    ]  # fmt: skip


def _against_both_controls(results: pd.DataFrame, known: set[str]) -> list[Claim]:
    values = {
        E1: (TABLE_3, "0.780 against about 0.3"),
        E2: (FIGURE_4, "1.00 against about 0.3"),
        E3: (FIGURE_5, "high, no number"),
    }
    trained = [loss for loss in values if f"{loss}{WARM}" in known] or [E1, E2]
    both = [
        claim_greater(
            results, HARD, f"{loss}{WARM}", control,
            text=f"{loss} with warm-up is better than {control}",
            source=values[loss][0],
            paper_value=values[loss][1].replace("about 0.3", "0.246") if WARM in control
            else values[loss][1],
        )
        for loss in trained
        for control in (CE, CE_WARM_UP)
    ]  # fmt: skip
    return [
        *both,
        claim_greater(
            results, HARD, f"{E1}{WARM}", E1,
            text=f"{E1} gains from warm-up",
            source=TABLE_3, paper_value="0.780 against 0.593",
        ),
    ]  # fmt: skip


def _many_letters(results: pd.DataFrame, suffix: str) -> list[Claim]:
    """The last row of Table 3, five letters to copy of 500."""
    e1, ce, e3 = (f"{loss}{WARM}{suffix}" for loss in ("E1 λ=1", CE, E3))
    return [
        *(
            claim_level(
                results, e1, metric, at_least=COPIES,
                text=f"With 500 letters E1 λ=1 with warm-up copies all {what}",
                source=TABLE_3, paper_value="1.00",
            )
            for metric, what in ((HARD, "letters"), (EXACT, "answers of five letters"))
        ),
        claim_greater(
            results, HARD, e1, ce,
            text="It is better there than cross-entropy with warm-up",
            source=TABLE_3, paper_value="1.00, no number for cross-entropy",
        ),
        claim_greater(
            results, HARD, e1, e3,
            text="It is better there than E3, whose sum over V grows with it",
            source=SECTION, paper_value="said, no number",
        ),
    ]  # fmt: skip
