"""Claims on the margins of last layers, against those that theory has for frozen features."""

from experiments.harness.claims import greater, level, number
from experiments.ntp_last_layer.run import (
    ADAMW,
    DECAY,
    E1,
    FROBENIUS,
    GAIN,
    LEAD,
    MAX,
    SGD,
    SIGNUM,
    UNTRAINED,
)

LOOKS = {"cpu": 2}  # at the first look, with 5 data sets, three of seven were undecided
LINEAR = "Thrampoulidis 2024, Theorem 2; Zhang, Zou, Cao 2024, arXiv 2406.10650"


def at(method: str) -> dict[str, str]:
    """The runs of a method."""
    return {"method": method}


CLAIMS = [
    number(
        "Untrained features separate the training strings", "separable", at(UNTRAINED), at_least=1
    ),
    level(
        "After its fit AdamW's last layer under cross-entropy gains Frobenius margin, as a share "
        "of the largest on its features",
        GAIN,
        at(ADAMW),
        at_least=0.0,
        paper="frozen features: tends to 1",
        source=LINEAR,
    ),
    greater(
        "The Frobenius share is larger under SGD than under AdamW",
        FROBENIUS,
        at(SGD),
        at(ADAMW),
        paper="frozen features: SGD's norm",
        source=LINEAR,
    ),
    greater(
        "The share in the max norm is larger under AdamW than under SGD",
        MAX,
        at(ADAMW),
        at(SGD),
        paper="frozen features: Adam's norm",
        source=LINEAR,
    ),
    level(
        "Under Signum the share in the max norm exceeds the Frobenius share",
        LEAD,
        at(SIGNUM),
        at_least=0.0,
        paper="frozen features: its norm",
        source=LINEAR,
    ),
    greater(
        "The Frobenius share is larger under E1 than under cross-entropy",
        FROBENIUS,
        at(E1),
        at(ADAMW),
    ),
    greater("So it is under heavy decay", FROBENIUS, at(DECAY), at(ADAMW)),
]
