"""Claims on the hard strings' part of the task, with about 80 of them in training.

The number of hard training strings is fixed in expectation: a string is easy with the given
probability, and a data set has its own count in every cell.
"""

import math
from typing import Any

from experiments.el_easy_strings.run import METHODS, NUM_TRAIN, updates_of
from experiments.harness.claims import contrast, trend
from experiments.harness.judging import Claim

HARD, COPIES, FITTED = "test_precise_hard_accuracy", "swap_copies", "train_hard_accuracy"
SECTION = "Yang et al. 2025, section 3.2"
CE, E1, DECAY = METHODS
ALONE, PAPER = 0.0, 0.8  # shares of easy strings


def at(method: str, easy: float, equal: str = "updates") -> dict[str, Any]:
    """The runs of a recipe with this share of easy strings."""
    return {
        "method": method,
        "easy_fraction": easy,
        "num_updates": updates_of(easy, equal),
    }


def _gain(method: str, equal: str = "updates", sign: int = 1) -> list[tuple[float, dict[str, Any]]]:
    """What taking all easy strings away adds, in terms of a contrast."""
    return [(sign, at(method, ALONE, equal)), (-sign, at(method, PAPER))]


CLAIMS: dict[str, list[Claim]] = {
    "cpu": [
        contrast(
            "Cross-entropy: hard strings alone teach more about unseen hard ones than with easy ones",
            HARD,
            _gain(CE),
            paper="easy strings harm, no number",
            source=SECTION,
        ),
        trend(
            "Cross-entropy: it copies less, the more easy strings there are (0, 80, 320, 720; "
            "slope per doubling of all strings)",
            COPIES,
            {"method": CE, "num_updates": updates_of(PAPER, "updates")},
            "easy_fraction",
            rising=False,
            position=lambda easy: math.log2(NUM_TRAIN[easy] / NUM_TRAIN[ALONE]),
            paper="a factor, no number",
            source=SECTION,
        ),
        contrast(
            "Cross-entropy: hard strings alone copy more than with easy ones, at as many passes",
            COPIES,
            _gain(CE, "passes"),
            paper="easy strings harm, no number",
            source=SECTION,
        ),
        contrast(
            "Taking easy strings away adds less to what E1 copies than to cross-entropy",
            COPIES,
            [*_gain(CE), *_gain(E1, sign=-1)],
            paper="E-losses undo the harm, no number",
            source=SECTION,
        ),
        contrast(
            "With heavy decay, too, hard strings alone copy more than with easy ones",
            COPIES,
            _gain(DECAY),
        ),
    ]
}
