"""Claims on the share of the belief states' variance that hidden states explain."""

from typing import Any

from experiments.harness.claims import greater, level

LOOKS = {"cpu": 2}  # at the first look, with 5 networks each, three of seven were undecided
BELIEF, LEFT = "belief_r2", "belief_left"
LAYERS = "belief_r2_of_layers"
OF_WORD, UNTRAINED = "belief_r2_of_word", "belief_r2_untrained"
MESS3: dict[str, Any] = {"world": "mess3"}
RRXOR: dict[str, Any] = {"world": "rrxor", "num_layers": None}  # two
DEEP: dict[str, Any] = {"world": "rrxor", "num_layers": 4}
CE, E1, E2 = {"loss": "cross_entropy"}, {"loss": "e1"}, {"loss": "e2"}
SOURCE = "Shai et al. 2024"

CLAIMS = [
    level(
        "On Mess3 hidden states have at least .95 of the beliefs' variance",
        BELIEF,
        MESS3 | CE,
        at_least=0.95,
        paper="a picture",
        source=SOURCE,
    ),
    level(
        "Training does that: they leave at most half of what fresh networks leave",
        LEFT,
        MESS3 | CE,
        at_most=0.5,
    ),
    greater("E1 leaves more of it than cross-entropy", LEFT, MESS3 | E1, MESS3 | CE),
    greater("E2 leaves more of it than cross-entropy", LEFT, MESS3 | E2, MESS3 | CE),
    level(
        "On RRXOR the last layer has less than .95: its beliefs are spread over layers",
        BELIEF,
        RRXOR | CE,
        at_most=0.95,
        paper="linear in all layers together, not in the last",
        source=SOURCE,
    ),
    level(
        "All of its layers together have at least .95",
        LAYERS,
        RRXOR | CE,
        at_least=0.95,
        paper="linear in all layers together",
        source=SOURCE,
    ),
    level(
        "With the paper's four layers all together have at least .95",
        LAYERS,
        DEEP | CE,
        at_least=0.95,
        paper="linear in all layers together",
        source=SOURCE,
    ),
]
