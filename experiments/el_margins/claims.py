"""Claims of Puli et al. (2023) on the linear perception task, with the numbers of a replication.

E1 at two classes is their marg-log, and E2 their spectral decoupling, so that this is the theory
behind both. E3 has no counterpart there.
"""

import math
from typing import Any

from experiments.el_margins.run import LOSSES
from experiments.harness.claims import greater, level, trend
from experiments.harness.judging import OURS, Claim
from experiments.harness.names import name_of

SOURCE = "Puli et al. 2023, linear perception (a replication)"
WORST_GROUP, RATIO = "worst_group_accuracy", "shortcut_ratio"
BASE = {"shortcut_size": 10}  # of the published experiment
CE, E1, E2, E3 = LOSSES
RIGHT = 0.99


def _controlled(loss: dict[str, Any], accuracy: str = "", ratio: str = "") -> list[Claim]:
    """A loss with a bounded margin leaves the shortcut alone."""
    name, where, source = name_of(loss), loss | BASE, SOURCE if accuracy else OURS
    return [
        level(
            f"{name} is right where the shortcut is wrong",
            WORST_GROUP,
            where,
            at_least=RIGHT,
            paper=accuracy,
            source=source,
        ),
        level(
            f"{name} gives the shortcut next to no weight",
            RATIO,
            where,
            at_most=0.05,
            paper=ratio,
            source=source,
        ),
        greater(
            f"Margins of {name} are more equal than those of cross-entropy",
            "margin_spread",
            CE | BASE,
            where,
            paper="equal margins (theorem 2)" if accuracy else "",
            source=source,
        ),
    ]


CLAIMS = [
    level(
        "Cross-entropy is right on the training examples",
        "train_accuracy",
        CE | BASE,
        at_least=RIGHT,
        source=SOURCE,
    ),
    level(
        "... and worse than a guess where the shortcut is wrong",
        WORST_GROUP,
        CE | BASE,
        at_most=0.5,
        paper=".400",
        source=SOURCE,
    ),
    level(
        "It gives the shortcut more weight than the feature that is always right",
        RATIO,
        CE | BASE,
        at_least=1.0,
        paper="1.75",
        source=SOURCE,
    ),
    trend(
        "Its accuracy there falls with B (2, 5, 10, 20, 50; slope per doubling)",
        WORST_GROUP,
        CE,
        "shortcut_size",
        rising=False,
        position=math.log2,
        paper=".703, .505, .405, .356, .343",
        source=SOURCE,
    ),
    *_controlled(E1, "1.000", ".004"),
    *_controlled(E2, "1.000", ".002"),
    *_controlled(E3),
]
