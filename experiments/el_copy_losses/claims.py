"""Claims of Yang et al. (2025) on the E-losses on the copy task.

The paper contradicts itself about the strings its numbers are for. Table 3 is captioned "easy",
yet its text calls that subset the key to generalisation, and reports warm-up alone, 0.246, as
slightly better than cross-entropy, whose 0.3 the text gives for easy strings. Table 3 is compared
with the hard strings here; the 0.3 is quoted with the group the paper names. The paper's settings
are L_c=5, L_p=2000 and λ=4 where so marked; where ours differ, compare sign and not size.
"""

from collections.abc import Sequence

import pandas as pd

from experiments.harness.claims import Claim, claim_greater, claim_level
from experiments.harness.tables import settings_with

HARD = "test_precise_hard_accuracy"  # 10,000 strings
TRAIN = "train_hard_accuracy"
CE, CE_WARM_UP = "cross-entropy", "cross-entropy, warm-up"
E1 = {lam: f"E1 λ={lam}" for lam in (1, 2, 4)}
E1_WARM_UP = {lam: f"{name}, warm-up" for lam, name in E1.items()}
E2_WARM_UP, E3_WARM_UP = "E2 λ=4, warm-up", "E3 b=1, warm-up"
FIGURE_4, FIGURE_5 = "Yang et al. 2025, Figure 4", "Yang et al. 2025, Figure 5"
CE_VALUE = "about 0.3 (said of easy strings)"
TABLE_3 = "Yang et al. 2025, Table 3"


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv; a λ that was not trained is left out."""
    known = settings_with(results, HARD)
    trained = [lam for lam, name in E1_WARM_UP.items() if name in known]
    return [
        *_cross_entropy_overfits(results),
        *_e_losses_generalise(results, trained),
        *_ablations(results, trained),
    ]


def _cross_entropy_overfits(results: pd.DataFrame) -> list[Claim]:
    return [
        claim_level(
            results, CE, TRAIN, at_least=0.99,
            text="Cross-entropy fits the hard training strings",
            source=FIGURE_4, paper_value="1.00",
        ),
        claim_level(
            results, CE, HARD, at_most=0.9,
            text="Cross-entropy does not copy unseen hard strings",
            source=FIGURE_4, paper_value=CE_VALUE,
        ),
    ]  # fmt: skip


def _e_losses_generalise(results: pd.DataFrame, trained: Sequence[int]) -> list[Claim]:
    sources = {E1_WARM_UP[lam]: (FIGURE_5, "high, no number") for lam in trained}
    sources |= {E2_WARM_UP: (FIGURE_4, "1.00"), E3_WARM_UP: (FIGURE_5, "high, no number")}
    return [
        claim_greater(
            results, HARD, setting, CE,
            text=f"{setting} copies unseen hard strings better than cross-entropy",
            source=source, paper_value=f"{value} against {CE_VALUE}",
        )
        for setting, (source, value) in sources.items()
    ]  # fmt: skip


def _ablations(results: pd.DataFrame, trained: Sequence[int]) -> list[Claim]:
    alone = [
        claim_greater(
            results, HARD, E1_WARM_UP[lam], CE_WARM_UP,
            text=f"Warm-up alone does less than warm-up with E1 (λ={lam})",
            source=TABLE_3, paper_value="0.780 (λ=4) against 0.246",
        )
        for lam in trained
    ]  # fmt: skip
    # the quickstart has neither E1 without warm-up nor V=500
    if E1[4] not in settings_with(results, HARD):
        return alone
    return [
        *alone,
        claim_greater(
            results, HARD, E1_WARM_UP[4], E1[4],
            text="E1 gains from warm-up (λ=4)",
            source=TABLE_3, paper_value="0.780 against 0.593",
        ),
        claim_level(
            results, f"{E1_WARM_UP[1]}, V=500", HARD, at_least=0.99,
            text="E1 with warm-up is perfect with 500 characters and twice the data (λ=1)",
            source=TABLE_3, paper_value="1.00",
        ),
    ]  # fmt: skip
