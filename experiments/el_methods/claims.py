"""Claims on the share that copies in the swap test; a difference of a tenth matters."""

from typing import Any

from experiments.harness.claims import contrast, greater

COPIES, HARD = "swap_copies", "test_precise_hard_accuracy"
MATTERS = 0.1
LOOKS = {"cpu": 2}  # at the first look, with 6 data sets, three of six were undecided
BOUNDED = (
    *("E1", "E2", "E3", "Dice", "label smoothing", "confidence penalty", "MaxSup"),
    *("sigma damp", "marg log", "logit penalty"),
)
UNBOUNDED = ("cross-entropy", "comp-sum, τ > 1", "focal", "squentropy", "Taylor softmax")


def at(method: str) -> dict[str, Any]:
    """The runs of a method."""
    return {"method": method}


CLAIMS = [
    contrast(
        "Losses with a finite equilibrium margin copy more than those without, on average",
        COPIES,
        [
            *((1 / len(BOUNDED), at(method)) for method in BOUNDED),
            *((-1 / len(UNBOUNDED), at(method)) for method in UNBOUNDED),
        ],
    ),
    greater(
        "Dice, a bounded margin under another name, copies as much as E1 (less a tenth)",
        COPIES,
        at("Dice"),
        at("E1"),
        by=-MATTERS,
    ),
    greater(
        "Comp-sum with τ > 1, which gives up hard strings, copies less than cross-entropy",
        COPIES,
        at("cross-entropy"),
        at("comp-sum, τ > 1"),
    ),
    greater(
        "Heavy weight decay makes cross-entropy copy more",
        COPIES,
        at("weight decay"),
        at("cross-entropy"),
    ),
    greater(
        "E1 copies more than cross-entropy with heavy weight decay",
        COPIES,
        at("E1"),
        at("weight decay"),
    ),
    greater("Muon copies more than AdamW", COPIES, at("Muon"), at("cross-entropy")),
    greater(
        "Normalised queries and keys (qk-norm) make cross-entropy copy more",
        COPIES,
        at("qk-norm"),
        at("cross-entropy"),
    ),
]
