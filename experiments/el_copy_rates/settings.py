"""Names of the trained settings by loss, learning rate and warm-up."""

import pandas as pd

from experiments.harness.tables import with_parts

LABELS = {"cross_entropy": "cross-entropy", "e1": "E1 λ=2", "e2": "E2 λ=4", "e3": "E3 b=1"}
CE, *E_LOSSES = LABELS.values()
NONE, WARM = "", ", warm-up"
LONGER = ", four times the updates"


def named(loss: str, rate: float, warm_up: str) -> str:
    """The name of a setting; ``loss`` is one of the values of ``LABELS``."""
    return f"{loss} η={rate:g}{warm_up}"


def rates_of(results: pd.DataFrame) -> list[float]:
    """The learning rates of the table, ascending."""
    found = with_parts(results, rf"{CE} η=(?P<rate>[-.e\d]+)")
    return sorted(found["rate"].astype(float).unique())
