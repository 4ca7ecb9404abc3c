"""Claims on unseen hard strings and on the copy, with about 80 hard training strings everywhere.

"About": every string is easy with the given probability, so that a data set has its own count.
"""

import math
from typing import Any

from experiments.el_easy_strings.run import METHODS, NUM_TRAIN
from experiments.el_methods.run import NUM_UPDATES, STRINGS
from experiments.harness.claims import contrast, trend

HARD, COPIES = "test_precise_hard_accuracy", "swap_copies"
SECTION = "Yang et al. 2025, section 3.2"
HARM = "easy strings harm, no number"
CE, E1, DECAY = METHODS
ALONE = min(NUM_TRAIN.values())  # strings, all hard
UPDATES = {"num_updates": NUM_UPDATES}
PASSES = {"passes": 80}  # over the hard strings: those of 4,000 updates with 400 strings


def gain(method: str, equal: dict[str, int], sign: int = 1) -> list[tuple[float, dict[str, Any]]]:
    """What taking the 320 easy strings away adds, as the terms of a contrast."""
    alone, paper = (
        {"method": method, "num_train": strings, **equal} for strings in (ALONE, STRINGS)
    )
    return [(sign, alone), (-sign, paper)]


CLAIMS = [
    contrast(
        "Cross-entropy: without the easy strings more unseen hard ones are right",
        HARD,
        gain(CE, UPDATES),
        paper=HARM,
        source=SECTION,
    ),
    trend(
        "Cross-entropy: the more easy strings (0, 80, 320, 720), the less it copies (slope per "
        "doubling of all strings)",
        COPIES,
        {"method": CE, **UPDATES},
        "num_train",
        rising=False,
        position=math.log2,
        paper=HARM,
        source=SECTION,
    ),
    contrast(
        "Cross-entropy: without the easy strings it copies more, after as many passes",
        COPIES,
        gain(CE, PASSES),
        paper=HARM,
        source=SECTION,
    ),
    contrast(
        "Taking the easy strings away adds less to what E1 copies than to cross-entropy",
        COPIES,
        [*gain(CE, UPDATES), *gain(E1, UPDATES, sign=-1)],
        paper="E-losses repair the harm, no number",
        source=SECTION,
    ),
    contrast(
        "With heavy decay, too, it copies more without the easy strings",
        COPIES,
        gain(DECAY, UPDATES),
    ),
]
