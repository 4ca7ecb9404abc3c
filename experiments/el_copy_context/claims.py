"""Claims of Yang et al. (2025) on longer contexts with the same strings in every batch.

Those of the paper are read off Figure 1a, accuracy at the end of training. Figure 2, the training
loss along the way, is measured in curves.csv; no claim is judged on it.
"""

import math

import pandas as pd

from experiments.harness.claims import (
    Claim,
    claim_contrast,
    claim_greater,
    claim_level,
    claim_trend,
)
from experiments.harness.tables import settings_with

CONTEXTS = (55, 110, 220, 440)
HARD = "test_precise_hard_accuracy"
CE, CE_WARM_UP, E2_WARM_UP = "cross-entropy", "cross-entropy, warm-up", "E2 λ=4, warm-up"
SOURCE, OURS = "Yang et al. 2025, Figure 1a", "not in the paper"
ALIKE = 0.1  # a difference of accuracies that counts as none


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv; contexts that were not run are left out of the trends."""
    known = settings_with(results, HARD)
    measured = [c for c in CONTEXTS if named(CE, c) in known]
    contexts = measured if len(measured) > 1 else list(CONTEXTS)
    return [
        _falls(results, CE, contexts, SOURCE, "falls, values only drawn"),
        *(_falls(results, loss, contexts, OURS, "") for loss in (CE_WARM_UP, E2_WARM_UP)),
        *_longest(results, contexts[-1]),
        *_all_tokens(results),
    ]


def named(loss: str, context: int) -> str:
    """The name of a setting."""
    return f"{loss}, context {context}"


def _falls(results: pd.DataFrame, loss: str, contexts: list[int], source: str, value: str) -> Claim:
    return claim_trend(
        results, HARD, [named(loss, context) for context in contexts], rising=False,
        positions=[math.log2(context) for context in contexts],
        text=f"{loss}: accuracy on unseen hard strings falls as the context grows "
        f"({', '.join(map(str, contexts))} tokens; slope per doubling)",
        source=source, paper_value=value,
    )  # fmt: skip


def _longest(results: pd.DataFrame, context: int) -> list[Claim]:
    where = f"({context} tokens)"
    return [
        claim_level(
            results, named(CE, context), "test_precise_easy_accuracy", at_least=0.99,
            text=f"Cross-entropy answers unseen easy strings in the longest context {where}",
            source=SOURCE, paper_value="1.00",
        ),
        claim_level(
            results, named(CE, context), "train_hard_accuracy", at_least=0.99,
            text=f"It fits the hard training strings there {where}",
            source=SOURCE, paper_value="1.00",
        ),
        claim_greater(
            results, HARD, named(CE_WARM_UP, context), named(CE, context),
            text=f"Warm-up helps it there {where}", source=OURS, paper_value="",
        ),
        claim_greater(
            results, HARD, named(E2_WARM_UP, context), named(CE_WARM_UP, context),
            text=f"E2 adds to warm-up there {where}", source=OURS, paper_value="",
        ),
    ]  # fmt: skip


def _all_tokens(results: pd.DataFrame) -> list[Claim]:
    everywhere, answer = f"{CE}, all tokens, context 110", named(CE, 110)
    source, value = "Yang et al. 2025, footnote 1", "no difference"
    return [
        claim_contrast(
            results, HARD, weights, by=-ALIKE, text=text, source=source, paper_value=value
        )
        for text, weights in (
            (f"A loss on all tokens costs less than {ALIKE}", {everywhere: 1.0, answer: -1.0}),
            (f"... and gains less than {ALIKE}", {everywhere: -1.0, answer: 1.0}),
        )
    ]
