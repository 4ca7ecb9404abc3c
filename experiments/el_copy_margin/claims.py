"""Claims on the share that copies, and the margin that minimises a loss."""

from typing import Any

from experiments.el_copy_margin.run import CE, FAMILIES, MARGINS
from experiments.harness.claims import contrast, greater
from experiments.harness.judging import Claim

COPIES = "swap_copies"
REACHED = "train_hard_margin"
LOOKS = {"cpu": 2}  # at the first, with 6 data sets, all four were undecided, three at p = .056
LEAST, MIDDLE, MOST = MARGINS


def at(loss: str, margin: float | None = None) -> dict[str, Any]:
    """The runs of a loss, at one margin or at all margins."""
    return {"loss": loss} | ({} if margin is None else {"margin": margin})


def _families(sign: int, margin: float) -> list[tuple[float, dict[str, Any]]]:
    return [(sign / len(FAMILIES), at(family.loss, margin)) for family in FAMILIES]


def _above_cross_entropy(margin: float) -> Claim:
    return contrast(
        f"Losses that are least at a margin of {margin:g} nats copy more than cross-entropy, on "
        "average",
        COPIES,
        [*_families(1, margin), (-1.0, at(CE))],
    )


CLAIMS = [
    contrast(
        f"Losses copy more at a margin of {LEAST:g} nats than at {MOST:g}, on average",
        COPIES,
        [*_families(1, LEAST), *_families(-1, MOST)],
    ),
    _above_cross_entropy(LEAST),
    _above_cross_entropy(MIDDLE),
    greater(
        f"At the same margin of {LEAST:g} nats E1 copies more than Dice",
        COPIES,
        at("e1", LEAST),
        at("dice", LEAST),
    ),
]
