"""Intervals and words that figures share, so that a picture shows the interval of the verdicts.

Titles state an answer with its number. They are built from the table at every drawing.
"""

import re
from collections.abc import Iterable

import pandas as pd
import scipy.stats

from experiments.harness.statistics import CONFIDENCE, describe_seeds
from experiments.harness.tables import values_of

GLOSSARY = (
    "H: entropy, W: decoder, $W_{mm}$: max-margin decoder, $W^*$: finite part, "
    "$P_F$, $P_\\perp$: in and across the data subspace"
)


def t_sems(num_seeds: int) -> float:
    """Half length of the 95 % Student-t interval of a mean over seeds, in standard errors."""
    if num_seeds < 2:
        return 0.0
    return float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, num_seeds - 1))


def t_note(frame: pd.DataFrame, noun: str = "seeds") -> str:
    """The meaning of bars of ``t_sems``, such as ``95 % t interval over 10 seeds``."""
    return f"{CONFIDENCE:.0%} t interval over {count(frame, noun)}".replace("%", " %")


def count(frame: pd.DataFrame, noun: str = "seeds") -> str:
    """The number of seeds of the settings of a table, such as ``10 seeds`` or ``5–10 seeds``.

    Args:
        frame: results or curves, of the settings that are drawn.
        noun: the plural of what a seed stands for, such as ``problems``.
    """
    numbers = frame.groupby("setting")["seed"].nunique()
    return describe_seeds(list(numbers)).replace("seeds", noun).replace("seed", noun[:-1])


def mean_of(results: pd.DataFrame, setting: str, metric: str) -> float:
    """The mean of a metric over seeds; NaN if not measured."""
    return float(values_of(results, setting, metric).mean())


def decimal(value: float, digits: int = 2, *, signed: bool = False) -> str:
    """A number as the READMEs print it, without a leading 0: ``.48``, ``−.05``, ``1.00``."""
    value = round(value, digits) + 0.0  # no sign before a zero
    sign = "+" if signed and value >= 0 else ""
    text = re.sub(r"^(-?)0\.", r"\1.", f"{value:.{digits}f}")
    return sign + text.replace("-", "−")


def in_words(parts: Iterable[str]) -> str:
    """``a``, ``a and b`` or ``a, b and c``."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
