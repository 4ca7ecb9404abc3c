"""Claims on width: one of Yang et al. (2025), and whether results at width 64 hold beyond it.

Every run fits its training strings. Differences are over data sets, averaged over widths 128, 256.
"""

import math
from typing import Any

from experiments.el_copy_width.run import WIDTHS
from experiments.harness.claims import contrast, greater, number, trend
from experiments.harness.judging import Claim

HARD, FITTED = "test_precise_hard_accuracy", "train_hard_accuracy"
COPIES, SHORTCUT = "swap_copies", "swap_undoes_shift"
FIGURE = "Yang et al. 2025, Figure 1b"


def at(name: str, *widths: int) -> dict[str, Any]:
    """The runs of a recipe, at these widths or at all widths."""
    return {"method": name} | ({"width": widths} if widths else {})


def _copies_more(name: str, text: str) -> Claim:
    terms = [(sign, at(n, *WIDTHS[1:])) for sign, n in ((1, name), (-1, "cross-entropy"))]
    return contrast(text, COPIES, terms)


CLAIMS = {
    "cpu": [
        number(
            "Every run of cross-entropy fits the hard training strings at the largest width",
            FITTED,
            at("cross-entropy", WIDTHS[-1]),
            at_least=0.99,
            paper="1.00",
            source=FIGURE,
        ),
        trend(
            "Its accuracy on unseen hard strings falls as the width grows "
            f"({', '.join(map(str, WIDTHS))}; slope per doubling)",
            HARD,
            at("cross-entropy"),
            "width",
            rising=False,
            position=math.log2,
            paper="falls slightly, values only drawn",
            source=FIGURE,
        ),
        _copies_more("E1", "Beyond width 64, E1 copies more than cross-entropy"),
        _copies_more("weight decay", "Beyond width 64, heavy decay copies more"),
        greater(
            "At the largest width heavy decay copies more than E1",
            COPIES,
            at("weight decay", WIDTHS[-1]),
            at("E1", WIDTHS[-1]),
        ),
    ]
}
