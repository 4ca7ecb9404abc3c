"""Claims on the learning coefficients of networks that copy more and less, at equal loss."""

from typing import Any

from experiments.flat_volume.probe import MATCHED_CE
from experiments.harness.claims import greater
from experiments.harness.judging import Claim

LLC, TIGHT, COPIES = "learning_coefficient", "learning_coefficient_tight", "swap_copies"
HARD, FITTED = "test_precise_hard_accuracy", "train_hard_accuracy"
EQUAL = f"at {MATCHED_CE:g} nats"


def at(method: str) -> dict[str, Any]:
    """The runs of a method."""
    return {"method": method}


def _fills_more(method: str, than: str, text: str) -> Claim:
    return greater(text, LLC, at(than), at(method), matters=1.0)


CLAIMS = [
    _fills_more(
        "weight decay",
        "cross-entropy",
        f"Heavy decay, which copies more than cross-entropy, has a smaller coefficient {EQUAL}",
    ),
    _fills_more("Muon", "cross-entropy", "So does Muon"),
    _fills_more("weight decay", "Muon", "Heavy decay has a smaller one than Muon"),
    _fills_more("E1", "cross-entropy", "E1, which copies no more, has a smaller one, too"),
    greater("Muon copies more than E1", COPIES, at("Muon"), at("E1")),
]
