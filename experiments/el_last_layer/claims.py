"""Claims on the answers of different last layers on the features of trained networks."""

from experiments.el_last_layer.run import (
    BY_MARGIN,
    BY_SQUARES,
    COPIES,
    GAIN,
    HARD,
    LOW,
    UNTRAINED,
)
from experiments.harness.claims import greater, level
from experiments.harness.names import MATTERS

FRESH_HARD, FRESH_COPIES = f"fresh_{HARD}", f"fresh_{COPIES}"
FITTED = "train_hard_accuracy"
RETRAINING = "Kirichenko, Izmailov, Wilson 2023, arXiv 2204.02937"


def at(method: str) -> dict[str, str]:
    """The runs of a method."""
    return {"method": method}


CE = at("cross-entropy")
CLAIMS = [
    level(
        "At its low rate cross-entropy's features hold letters that its last layer misses: one "
        "fitted on fresh hard strings is right on .2 more of other hard ones",
        GAIN,
        at(LOW),
        at_least=0.2,
        paper="last layers suffice",
        source=RETRAINING,
    ),
    greater(
        "Training does that: on features of an untrained network it is right on .2 less",
        FRESH_HARD,
        at(LOW),
        at(UNTRAINED),
        by=0.2,
    ),
    level(
        "But where all padding shows one letter, it copies at most half",
        FRESH_COPIES,
        at(LOW),
        at_most=0.5,
        paper="last layers suffice",
        source=RETRAINING,
    ),
    level(
        "On cross-entropy's features the max margin of the training strings copies more than "
        "the network's own last layer",
        BY_MARGIN,
        CE,
        at_least=0.0,
        matters=MATTERS,
    ),
    level(
        "Least squares, toward which E-losses lead, copies more than the max margin there",
        BY_SQUARES,
        CE,
        at_least=0.0,
        matters=MATTERS,
    ),
    greater(
        "E1's features hold more letters of hard strings than cross-entropy's",
        FRESH_HARD,
        at("E1"),
        CE,
    ),
    greater(
        "So do those of heavy decay",
        FRESH_HARD,
        at("weight decay"),
        CE,
    ),
]
