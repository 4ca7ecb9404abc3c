"""Claims of Yang et al. (2025) on the course of training on the copy task.

Beside the metrics at the end of training, results.csv holds for each run: ``..._at_first``, a
metric after 100 updates; ``mean_accuracy_gap``, accuracy on easy minus on hard training strings,
averaged over training; ``hard_accuracy_when_fitted``, accuracy on unseen hard strings when the hard
training strings were fitted first; ``rectified_afterwards``, what was still gained after that.
"""

import pandas as pd

from experiments.harness.claims import Claim, claim_greater, claim_level

CE, CE_WARM_UP = "cross-entropy", "cross-entropy, warm-up"
E2, E2_WARM_UP = "E2 λ=4", "E2 λ=4, warm-up"
FIGURE_2, FIGURE_4 = "Yang et al. 2025, Figure 2", "Yang et al. 2025, Figure 4"
SECTION = "Yang et al. 2025, section 3.2"


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [
        *_stratification(results),
        *_memorised(results),
        *_equal_learning(results),
        *_mechanism(results),
    ]


def _stratification(results: pd.DataFrame) -> list[Claim]:
    return [
        claim_level(
            results, CE, "ever_stratified_by_accuracy", at_least=0.99,
            text="Every run of cross-entropy fits easy strings while half of the hard are wrong",
            source=SECTION, paper_value="one of three regimes",
        ),
        claim_level(
            results, CE, "ever_stratified", at_least=0.99,
            text="Every run is stratified by loss, easy below .01 nats and hard above 1",
            source=FIGURE_2, paper_value="so drawn",
        ),
        claim_level(
            results, CE, "train_easy_ce_at_first", at_most=0.1,
            text="Cross-entropy fits the easy strings within 100 updates",
            source=FIGURE_2, paper_value="loss 0 after 50 updates",
        ),
        claim_level(
            results, CE, "train_hard_ce_at_first", at_least=1.0,
            text="It has not learnt the hard strings by then",
            source=FIGURE_2, paper_value="decays slowly, with a long tail",
        ),
    ]  # fmt: skip


def _memorised(results: pd.DataFrame) -> list[Claim]:
    return [
        claim_level(
            results, CE, "hard_accuracy_when_fitted", at_most=0.4,
            text="Cross-entropy fits the hard training strings by memory, not by copying",
            source=SECTION, paper_value="no number",
        ),
        claim_greater(
            results, "rectified_afterwards", E2_WARM_UP, CE,
            text=f"{E2_WARM_UP} goes on rectifying once they are fitted, more than cross-entropy",
            source=SECTION, paper_value="no number",
        ),
    ]  # fmt: skip


def _equal_learning(results: pd.DataFrame) -> list[Claim]:
    return [
        claim_greater(
            results, "mean_accuracy_gap", CE, E2_WARM_UP,
            text=f"{E2_WARM_UP} has a smaller gap in accuracy between easy and hard training",
            source=FIGURE_4, paper_value="far smaller loss, no number",
        ),
        claim_greater(
            results, "mean_accuracy_gap", CE_WARM_UP, E2_WARM_UP,
            text="... than cross-entropy with warm-up, too",
            source=FIGURE_4, paper_value="not drawn",
        ),
        claim_greater(
            results, "train_easy_accuracy_at_first", CE, E2,
            text=f"{E2} learns the easy strings more slowly at first (both without warm-up)",
            source=FIGURE_4, paper_value="far slower, no number",
        ),
    ]  # fmt: skip


def _mechanism(results: pd.DataFrame) -> list[Claim]:
    return [
        claim_greater(
            results, "swap_copies", better, worse,
            text=f"{better} copies where the padding says another letter, more than {worse}",
            source=SECTION, paper_value="not measured",
        )
        for better, worse in (
            (CE_WARM_UP, CE), (E2_WARM_UP, E2), (E2_WARM_UP, CE_WARM_UP),
        )
    ]  # fmt: skip
