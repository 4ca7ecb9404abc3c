"""Claims on the share that copies in the swap test, of runs stopped at the same training loss."""

from typing import Any, Unpack

from experiments.el_equal_loss.run import LEVELS
from experiments.harness.claims import Wording, contrast, greater
from experiments.harness.judging import Claim

COPIES, SHORTCUT, HARD = "swap_copies", "swap_undoes_shift", "test_precise_hard_accuracy"
REACHED = "reached_step"
EARLY, LATE = LEVELS
LOOKS = {"cpu": 2}  # at the first look, with 12 data sets
MUON = "arXiv 2603.00742 and 2510.22980"


def at(method: str, level: float) -> dict[str, Any]:
    """The runs of a method that were stopped at a level."""
    return {"method": method, "stop_at_ce": level}


def _more(text: str, method: str, than: str, **wording: Unpack[Wording]) -> Claim:
    return greater(text, COPIES, at(method, LATE), at(than, LATE), **wording)


CLAIMS = [
    _more(
        f"At {LATE:g} nats Muon copies more than AdamW",
        "Muon",
        "cross-entropy",
        paper="more shortcuts (the first), equal rates (the second)",
        source=MUON,
    ),
    _more(
        f"At {LATE:g} nats heavy decay copies more than cross-entropy without it",
        "weight decay",
        "cross-entropy",
    ),
    _more(f"At {LATE:g} nats E1 copies more than cross-entropy", "E1", "cross-entropy"),
    _more(
        f"At {LATE:g} nats gradient noise copies less than cross-entropy without it",
        "cross-entropy",
        "gradient noise",
    ),
    greater(
        f"Cross-entropy gains less than .05 from {EARLY:g} to {LATE:g} nats",
        COPIES,
        at("cross-entropy", EARLY),
        at("cross-entropy", LATE),
        by=-0.05,
    ),
    contrast(
        f"Heavy decay gains more than cross-entropy from {EARLY:g} to {LATE:g} nats",
        COPIES,
        [
            (1, at("weight decay", LATE)),
            (-1, at("weight decay", EARLY)),
            (-1, at("cross-entropy", LATE)),
            (1, at("cross-entropy", EARLY)),
        ],
    ),
]
