"""Claims of Liu, Xie, Li, Ma (2023) on the size of networks whose losses are equal.

Sections 3.3 and 5, Figures 2 and 5: at equal loss larger networks are better for downstream tasks,
and, embedded in one architecture, have a smaller trace of the Hessian. The rule of embedding
multiplies some parts of the trace by a power of the ratio of widths (``el_jax.models.surgery``), so
the claim is judged under every way to count.
"""

import math

import pandas as pd

from experiments.flat_size.settings import (
    ACCURACIES,
    CONVENTIONS,
    WORLDS,
    at_equal_loss,
    named,
    widths,
)
from experiments.harness.claims import Claim, claim_trend

ACCURACY, TRACE = "Liu et al. 2023, Figure 2", "Liu et al. 2023, Figure 5"
OURS = "not in the paper"
LABELS = dict(zip(ACCURACIES, ("the nearer label", "the farther label"), strict=True))


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    equal = at_equal_loss(results)
    return [claim for world in WORLDS for claim in _of_world(equal, world, widths(results, world))]


def _of_world(equal: pd.DataFrame, world: str, trained: list[int]) -> list[Claim]:
    trained = trained or [0, 1]
    settings = [named(world, width) for width in trained]
    positions = [math.log2(width) if width else 0.0 for width in trained]
    where = f"{WORLDS[world]}, at equal KL, widths {_listed(trained)}"
    found = [
        claim_trend(
            equal, accuracy, settings, rising=True, positions=positions,
            text=f"{where}: the probe of {label} is better for wider networks "
            "(slope per doubling)",
            source=ACCURACY, paper_value="rises, values only drawn",
        )
        for accuracy, label in LABELS.items()
    ]  # fmt: skip
    for name, convention in CONVENTIONS.items():
        of_paper = name == "trace_released"
        found.append(
            claim_trend(
                equal, name, settings, rising=False, positions=positions,
                text=f"{where}: the trace {convention.words} is smaller for wider networks "
                "(slope per doubling)",
                source=TRACE if of_paper else OURS,
                paper_value="19.8 to 12.6" if of_paper else "",
            )
        )  # fmt: skip
    return found


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
