"""Claims on the share that copies by the scale of the outputs, that is from rich to lazy."""

from typing import Any

from experiments.el_lazy.run import SCALES
from experiments.harness.claims import contrast, greater
from experiments.harness.judging import Claim

COPIES, DRIFT = "swap_copies", "kernel_drift"
LOSSES = {"cross_entropy": "cross-entropy", "e1": "E1"}
CE, E1 = LOSSES
LAZY = "Kumar et al. 2024, arXiv 2310.06110"
STEPS = f"α = {', '.join(f'{alpha:g}' for alpha in SCALES)}; fall per step"


def at(loss: str, alpha: float, rate_of: float | None = None) -> dict[str, Any]:
    """The runs of a loss at a scale, with the learning rate of that scale or of another."""
    return {"loss": loss, "alpha": alpha, "rate_of": rate_of or alpha}


def _falls(text: str, metric: str, loss: str, paper: str) -> Claim:
    """The metric falls as α grows: its slope over the steps of α."""
    middle = (len(SCALES) - 1) / 2
    squares = sum((i - middle) ** 2 for i in range(len(SCALES)))
    terms = [((middle - i) / squares, at(loss, alpha)) for i, alpha in enumerate(SCALES)]
    return contrast(f"{text} ({STEPS})", metric, terms, paper=paper, source=LAZY)


def _copies_less(loss: str) -> Claim:
    text = f"The lazier its training, the less {LOSSES[loss]} copies"
    return _falls(text, COPIES, loss, "lazy training generalises later")


CLAIMS = [
    _falls("The tangent kernel moves less the larger α", DRIFT, CE, "fixed as α grows"),
    _copies_less(CE),
    _copies_less(E1),
    greater(
        f"That is not their lower rate: at the rate of α = {SCALES[-1]:g} cross-entropy copies "
        "more at α = 1",
        COPIES,
        at(CE, 1.0, SCALES[-1]),
        at(CE, SCALES[-1]),
    ),
    greater(
        f"At α = {SCALES[-1]:g} E1 copies more than cross-entropy",
        COPIES,
        at(E1, SCALES[-1]),
        at(CE, SCALES[-1]),
    ),
    contrast(
        "E1's lead is larger where training is laziest than where it is richest",
        COPIES,
        [
            (1.0, at(E1, SCALES[-1])),
            (-1.0, at(CE, SCALES[-1])),
            (-1.0, at(E1, SCALES[0])),
            (1.0, at(CE, SCALES[0])),
        ],
    ),
]
