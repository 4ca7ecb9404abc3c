"""Names of the trained settings by their factors."""

from collections.abc import Sequence

LABELS = {"cross_entropy": "cross-entropy", "e1": "E1 λ=2", "e2": "E2 λ=4", "e3": "E3 b=1"}
CE, *E_LOSSES = LABELS.values()
WIDE, NARROW, FEW = "", ", width 32", ", 400 strings"  # ends of names
NONE, WARM = "", ", warm-up"
SHORT, MIDDLE, LONG = 0.95, 0.99, 0.999  # decay of Adam's second moment
MEMORIES = {NARROW: (LONG, MIDDLE, SHORT), FEW: (LONG, SHORT)}
DECAYS = {NARROW: (0.0, 0.1), FEW: (0.0,)}


def main(loss: str, warm_up: str) -> str:
    """The name of a run of the main setting, at the short memory and without decay."""
    return f"{loss}{warm_up}{WIDE}"


def cells(
    place: str,
    losses: Sequence[str],
    *,
    warm_up: Sequence[str] = (NONE, WARM),
    b2: Sequence[float] = (),
    decay: Sequence[float] = (),
) -> list[str]:
    """The names of a part of a factorial.

    Args:
        place: ``NARROW`` or ``FEW``.
        losses: of ``LABELS``' values.
        warm_up: without, with, or both.
        b2: of ``MEMORIES``; all if empty.
        decay: of ``DECAYS``; all if empty.
    """
    return [
        f"{loss} β₂={memory:g} wd={wd:g}{warm}{place}"
        for loss in losses
        for memory in b2 or MEMORIES[place]
        for wd in decay or DECAYS[place]
        for warm in warm_up
    ]


def switched(before: float, after: float) -> str:
    """The name of a run of cross-entropy whose β₂ changes half-way."""
    return f"{CE} β₂={before:g} later={after:g}{FEW}"
