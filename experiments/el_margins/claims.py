"""Claims of Puli et al. (2023) on the linear perception task, with the numbers of a replication.

E1 at two classes is their marg-log, and E2 their spectral decoupling, so that this is the theory
behind both. E3 has no counterpart there.
"""

import math

import pandas as pd

from experiments.el_margins.settings import (
    BASE,
    CE,
    E1,
    E2,
    E3,
    LOSSES,
    RATIO,
    SIZES,
    SPREAD,
    TRAINED,
    WORST_GROUP,
    named,
)
from experiments.harness.claims import Claim, claim_greater, claim_level, claim_trend

SOURCE, OURS = "Puli et al. 2023, linear perception (a replication)", "not in the paper"
GUESS, RIGHT = 0.5, 0.99
CONTROLLED = {E1: ("1.000", ".004"), E2: ("1.000", ".002"), E3: ("", "")}  # accuracy, ratio


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    plain = named(CE, BASE)
    return [
        claim_level(
            results, plain, TRAINED, at_least=RIGHT,
            text="Cross-entropy is right on the training examples",
            source=SOURCE, paper_value="",
        ),
        claim_level(
            results, plain, WORST_GROUP, at_most=GUESS,
            text="... and worse than a guess where the shortcut is wrong",
            source=SOURCE, paper_value=".400",
        ),
        claim_level(
            results, plain, RATIO, at_least=1.0,
            text="It gives the shortcut more weight than the feature that is always right",
            source=SOURCE, paper_value="1.75",
        ),
        claim_trend(
            results, WORST_GROUP, [named(CE, size) for size in SIZES], rising=False,
            positions=[math.log2(size) for size in SIZES],
            text="Its accuracy there falls with B (2, 5, 10, 20, 50; slope per doubling)",
            source=SOURCE, paper_value=".703, .505, .405, .356, .343",
        ),
        *(claim for loss in LOSSES if loss != CE for claim in _controlled(results, loss)),
    ]  # fmt: skip


def _controlled(results: pd.DataFrame, loss: str) -> list[Claim]:
    """A loss with a bounded margin leaves the shortcut alone."""
    setting, plain, (accuracy, ratio) = named(loss, BASE), named(CE, BASE), CONTROLLED[loss]
    source = SOURCE if accuracy else OURS
    return [
        claim_level(
            results, setting, WORST_GROUP, at_least=RIGHT,
            text=f"{loss} is right where the shortcut is wrong",
            source=source, paper_value=accuracy,
        ),
        claim_level(
            results, setting, RATIO, at_most=0.05,
            text=f"{loss} gives the shortcut next to no weight",
            source=source, paper_value=ratio,
        ),
        claim_greater(
            results, SPREAD, plain, setting,
            text=f"Margins of {loss} are more equal than those of cross-entropy",
            source=source, paper_value="equal margins (theorem 2)" if accuracy else "",
        ),
    ]  # fmt: skip
