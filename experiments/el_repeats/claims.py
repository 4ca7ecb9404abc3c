"""Claims on what half of the sentences cost when they are repeated, and on four recipes.

A cost is measured against the same training without those sentences, in nats of divergence.
"""

from typing import Any

from experiments.el_repeats.run import LEFT_OUT, NUM_UPDATES, POOLS, REPEATED, SENTENCES, WORST
from experiments.harness.claims import Terms, contrast, greater

MATTERS = 0.01  # nats
FEW, MANY = POOLS[0], POOLS[-1]
SOURCE = "Hernandez et al. 2022, arXiv 2205.10487"


def repeated(pool: int, recipe: str = "cross-entropy") -> dict[str, Any]:
    """The runs of a recipe with half of the sentences from a pool."""
    return {"recipe": recipe, "mixture": REPEATED, "pool": pool}


def left_out(recipe: str = "cross-entropy") -> dict[str, Any]:
    """The runs of a recipe on the new half alone."""
    return {"recipe": recipe, "mixture": LEFT_OUT}


def passes(pool: int) -> int:
    """How often a training reads a pool."""
    return round(NUM_UPDATES * SENTENCES / 2 / pool)


def cost(recipe: str, sign: int = 1) -> Terms:
    """The terms of what the worst pool costs a recipe."""
    return [(sign, repeated(WORST, recipe)), (-sign, left_out(recipe))]


def _spared(recipe: str) -> Terms:
    return [*cost("cross-entropy"), *cost(recipe, -1)]


CLAIMS = [
    greater(
        f"A half that is repeated {passes(WORST)} times is worse than none",
        "kl",
        repeated(WORST),
        left_out(),
        matters=MATTERS,
        paper="a tenth of the tokens, 100 times: 800M parameters do as 400M do",
        source=SOURCE,
    ),
    greater(
        f"It is worse than one repeated {passes(FEW):,} times",
        "kl",
        repeated(WORST),
        repeated(FEW),
        matters=MATTERS,
        paper="the worst number is in the middle (double descent)",
        source=SOURCE,
    ),
    greater(
        f"A half that is repeated {passes(MANY)} times is better than none",
        "kl",
        left_out(),
        repeated(MANY),
        matters=MATTERS,
    ),
    greater(
        f"Repeated {passes(WORST)} times, it takes attention from induction heads",
        "prefix_matching",
        left_out(),
        repeated(WORST),
        matters=0.05,
        paper="-32% on average, at 3% of the tokens",
        source=SOURCE,
    ),
    contrast(
        "Heavy weight decay halves its cost",
        "kl",
        [*cost("cross-entropy"), *cost("weight decay", -2)],
        matters=MATTERS,
    ),
    contrast("Under Muon it costs less than under AdamW", "kl", _spared("Muon"), matters=MATTERS),
    contrast(
        "Under E1 it costs less than under cross-entropy", "kl", _spared("E1"), matters=MATTERS
    ),
]
