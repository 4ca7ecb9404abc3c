"""Claims on the margins that E1 leads to, from the equilibria of one token, and on copying there.

The claim on warm-up has the sign of el_text_copy, where it keeps E1 at the small margin.
"""

from typing import Any

from experiments.el_equilibria.run import ALPHABETS, MARKERS, STRENGTHS, WARM_UP, window
from experiments.harness.claims import Terms, contrast, number

SMALL, COPIES = "small_margins", "swap_copies"
COLD, WARM = ({"warmup_steps": steps} for steps in WARM_UP)
SOURCE = "Yang et al. 2025, section 4.1"
SIZES = tuple(size + MARKERS for size in ALPHABETS)
FEW = {"num_classes": SIZES[0]}


def part(num_classes: int, side: str) -> tuple[float, ...]:
    """The strengths below, in or above the window of two equilibria."""
    low, high = window(num_classes)
    place = {lam: "below" if lam < low else "above" if lam > high else "in" for lam in STRENGTHS}
    return tuple(lam for lam in STRENGTHS if place[lam] == side)


def over(side: str, weight: float = 1.0, **factors: Any) -> Terms:
    """The mean over all alphabets of the mean over the strengths on one side of the window."""
    each = weight / len(SIZES)
    return [(each, {"num_classes": v, "lam": part(v, side), **factors}) for v in SIZES]


CLAIMS = [
    number(
        "Below the window at most .05 of every run's right training answers have a small margin",
        SMALL,
        *(where for _, where in over("below")),
        at_most=0.05,
    ),
    number(
        "Above it, where the large margin is none, at least .95 of every run's have",
        SMALL,
        *(where for _, where in over("above")),
        at_least=0.95,
    ),
    contrast(
        "In it, with warm-up, most have: small steps stop at the first equilibrium",
        SMALL,
        over("in", **WARM),
        by=0.5,
        matters=0.0,
    ),
    contrast(
        "In it, more have with warm-up than without",
        SMALL,
        [*over("in", **WARM), *over("in", -1.0, **COLD)],
        paper="warm-up helps E1",
        source=SOURCE,
    ),
    contrast(
        "With 26 letters and warm-up E1 copies more above the window than below",
        COPIES,
        [
            (1.0, FEW | WARM | {"lam": part(SIZES[0], "above")}),
            (-1.0, FEW | WARM | {"lam": part(SIZES[0], "below")}),
        ],
        paper="λ = 4",
        source="Yang et al. 2025, Table 3",
    ),
]
