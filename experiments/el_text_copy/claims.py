"""Claims of Yang et al. (2025), Table 2, and what they leave open: loss or warm-up, copy or style.

The paper compares E1 with warm-up to cross-entropy without, by one number a text. Here each of the
two has its part judged, on hard sentences too; and with permuted labels, which a sentence's style
cannot tell.
"""

import pandas as pd

from experiments.el_text_copy.settings import (
    CE,
    CE_ABSENT,
    CE_MANY,
    CE_PERMUTED,
    CE_WARM_UP,
    CE_WARM_UP_MANY,
    E1,
    E1_ONE_WARM_UP,
    E1_PERMUTED,
    E1_WARM_UP,
    E1_WARM_UP_MANY,
    HARD,
    MANY,
    OVERALL,
    TEXTS,
    TRAIN_CE,
    named,
)
from experiments.harness.claims import Claim, claim_greater, claim_level

SOURCE, OURS = "Yang et al. 2025, Table 2", "not in the paper"
TABLE_2 = {"King James": (0.863, 0.981), "Shakespeare": (0.703, 0.766)}
NEAR = 0.05  # of a number of Table 2
SMALL_MARGIN = 1.0  # nats on training labels: at its small margin, .95, E1 rests at 6.67
FEW = 0.5  # exact match without any label that leaves most sentences to copying
PAIRS = {  # metric, better, worse -> the claim
    (HARD, E1_WARM_UP, CE): "... of hard sentences, too",
    (HARD, CE_WARM_UP, CE): "Warm-up alone does better on hard sentences",
    (HARD, E1, CE): "E1 alone does better on hard sentences",
    (HARD, E1_WARM_UP, CE_WARM_UP): "With warm-up, E1 does better than cross-entropy on them",
    (HARD, E1_PERMUTED, CE_PERMUTED): "E1 with warm-up does better where labels are permuted",
    (HARD, E1_ONE_WARM_UP, E1_WARM_UP): "With warm-up, λ = .5 gives more of them than λ = 1",
    (HARD, E1_ONE_WARM_UP, CE): "With warm-up and λ = .5, E1 gives more of them than CE",
    (HARD, E1_WARM_UP_MANY, CE_MANY): f"From {MANY}, E1 with warm-up gives more of hard ones",
    (HARD, E1_WARM_UP_MANY, CE_WARM_UP_MANY): f"From {MANY}, with warm-up, E1 gives more of them",
}


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [claim for text in TEXTS for claim in _on(results, text)]


def _on(results: pd.DataFrame, text: str) -> list[Claim]:
    plain, e1 = TABLE_2[text]
    return [
        claim_greater(
            results, OVERALL, named(E1_WARM_UP, text), named(CE, text),
            text=f"{text}: E1 with warm-up gives more labels than cross-entropy",
            source=SOURCE, paper_value=f"{e1:.3f} against {plain:.3f}",
        ),
        claim_level(
            results, named(E1_WARM_UP, text), OVERALL, at_least=e1 - NEAR,
            text=f"{text}: E1 with warm-up gives as many as in the paper (within {NEAR})",
            source=SOURCE, paper_value=f"{e1:.3f}",
        ),
        *(
            claim_greater(
                results, metric, named(better, text), named(worse, text),
                text=f"{text}: {said}", source=OURS, paper_value="",
            )
            for (metric, better, worse), said in PAIRS.items()
        ),
        claim_level(
            results, named(E1_ONE_WARM_UP, text), TRAIN_CE, at_most=SMALL_MARGIN,
            text=f"{text}: with λ = .5 and warm-up no training stays at the small margin",
            source=OURS, paper_value="",
        ),
        claim_level(
            results, named(CE_ABSENT, text), OVERALL, at_most=FEW,
            text=f"{text}: without a label in it a sentence seldom tells its own",
            source=OURS, paper_value="",
        ),
    ]  # fmt: skip
