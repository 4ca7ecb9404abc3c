"""Claims of Yang et al. (2025) on longer contexts with the same strings in every batch.

All three are read off Figure 1a, accuracy at the end of training. Figure 2, the training loss along
the way, is measured in curves.csv; no claim is judged on it.
"""

import math

import pandas as pd

from experiments.harness.claims import Claim, claim_level, claim_trend
from experiments.harness.tables import settings_with

CONTEXTS = (55, 110, 220, 440)
SOURCE = "Yang et al. 2025, Figure 1a"


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv; contexts that were not run are left out of the trend."""
    metric = "test_precise_hard_accuracy"
    settings = {context: f"cross-entropy, context {context}" for context in CONTEXTS}
    known = settings_with(results, metric)
    measured = {c: s for c, s in settings.items() if s in known}
    longest = settings[max(measured, default=max(CONTEXTS))]
    enough = measured if len(measured) > 1 else settings
    return [
        claim_trend(
            results, metric, list(enough.values()), rising=False,
            positions=[math.log2(context) for context in enough],
            text="Accuracy on unseen hard strings falls as the context grows "
            f"({', '.join(map(str, enough))} tokens; slope per doubling)",
            source=SOURCE, paper_value="falls, values only drawn",
        ),
        claim_level(
            results, longest, "test_precise_easy_accuracy", at_least=0.99,
            text="Unseen easy strings are copied whatever the context (the longest here)",
            source=SOURCE, paper_value="1.00",
        ),
        claim_level(
            results, longest, "train_hard_accuracy", at_least=0.99,
            text="Hard training strings are fitted whatever the context (the longest here)",
            source=SOURCE, paper_value="1.00",
        ),
    ]  # fmt: skip
