"""Claims of Wen et al. (2024) on a table of bigrams, and whether a transformer confirms them."""

import math

from experiments.flat_river.run import HILL, RIVER
from experiments.harness.claims import greater, level

LOOKS = {"cpu": 2}  # at the first look, with 8 seeds, one of six was undecided
SOURCE = "Wen et al. 2024"


def at(model: str, schedule: str) -> dict[str, str]:
    """The runs of a model under a schedule."""
    return {"model": model, "schedule": schedule}


FOLD = math.log10(5)
CLAIMS = [
    level(
        "Table of bigrams: the decay of WSD takes the hill to a fifth or less",
        "decay_lowers_hill",
        at("table", "WSD"),
        at_least=5,
        paper="loss drops sharply in the decay",
        source=SOURCE,
    ),
    level(
        "In the two fifths of training before the decay it falls by less than 2",
        "half_before_lowers_hill",
        at("table", "WSD"),
        at_most=2,
        paper="loss stays high in the stable phase",
        source=SOURCE,
    ),
    greater(
        "A tenth of the rate, constant, leaves five times the divergence along the river",
        RIVER,
        at("table", "low"),
        at("table", "WSD"),
        by=FOLD,
        paper="a high rate moves faster along the river",
        source=SOURCE,
    ),
    greater(
        "WSD-S with two cycles ends within a tenth of WSD (logarithm of the divergence)",
        "log10_kl",
        at("table", "WSD"),
        at("table", "WSD-S"),
        by=-math.log10(1.1),
        paper="WSD-S does better than WSD continued",
        source=SOURCE,
    ),
    greater(
        "Transformer under AdamW: WSD ends lower on the hill than a constant rate",
        HILL,
        at("transformer", "constant"),
        at("transformer", "WSD"),
    ),
    greater(
        "Transformer: a tenth of the rate, constant, leaves more of the river than WSD",
        RIVER,
        at("transformer", "low"),
        at("transformer", "WSD"),
    ),
]
