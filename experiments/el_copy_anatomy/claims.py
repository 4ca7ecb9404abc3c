"""Claims of Yang et al. (2025) on the course of training on the copy task.

Beside the metrics at the end of training, results.csv holds for each run: ``..._epoch_1``, a
metric after the first epoch, and ``mean_ce_gap``, cross-entropy on hard minus on easy training
strings, averaged over training, in nats.
"""

import pandas as pd

from experiments.harness.claims import Claim, claim_greater, claim_level
from experiments.harness.tables import settings_with

CE = "cross-entropy"
WITH_E_LOSS = ("E1 λ=2, warm-up", "E2 λ=4, warm-up", "E3 b=1, warm-up")
FIGURE_2, FIGURE_4 = "Yang et al. 2025, Figure 2", "Yang et al. 2025, Figure 4"


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    known = settings_with(results, "mean_ce_gap")
    measured = [s for s in WITH_E_LOSS if s in known] or WITH_E_LOSS[:1]
    return [
        *_stratification(results),
        *(claim for setting in measured for claim in _equal_learning(results, setting)),
    ]


def _stratification(results: pd.DataFrame) -> list[Claim]:
    return [
        claim_level(
            results, CE, "train_easy_ce_epoch_1", at_most=0.1,
            text="With cross-entropy the easy strings are fitted within the first epoch",
            source=FIGURE_2, paper_value="loss 0 after 50 updates",
        ),
        claim_level(
            results, CE, "train_hard_ce_epoch_1", at_least=1.0,
            text="With cross-entropy the hard strings are not learnt by then",
            source=FIGURE_2, paper_value="decays slowly, with a long tail",
        ),
        claim_level(
            results, CE, "train_hard_accuracy", at_least=0.99,
            text="With cross-entropy the hard training strings are fitted in the end",
            source=FIGURE_2, paper_value="1.00",
        ),
    ]  # fmt: skip


def _equal_learning(results: pd.DataFrame, setting: str) -> list[Claim]:
    return [
        claim_greater(
            results, "mean_ce_gap", CE, setting,
            text=f"{setting} has a smaller gap between hard and easy training loss",
            source=FIGURE_4, paper_value="far smaller, no number",
        ),
        claim_greater(
            results, "train_easy_accuracy_epoch_1", CE, setting,
            text=f"{setting} learns the easy strings more slowly at first",
            source=FIGURE_4, paper_value="far slower, no number",
        ),
        claim_greater(
            results, "swap_copies", setting, CE,
            text=f"{setting} copies the letter more often where the padding says another",
            source="Yang et al. 2025, section 3.2", paper_value="not measured",
        ),
    ]  # fmt: skip
