"""Data of the figures: a metric of a setting, with one row per seed."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float, Int


class SeedValues(NamedTuple):
    """One metric of one setting at the end of training.

    Attributes:
        seeds: the seeds, ascending.
        values: the metric for each seed, ``[R]``.
    """

    seeds: tuple[int, ...]
    values: Float[np.ndarray, "R"]


class Curve(NamedTuple):
    """One metric of one setting along training.

    Attributes:
        seeds: the seeds, ascending.
        steps: number of updates done at each mark, ascending, ``[S]``.
        values: the metric for each seed at each mark, ``[R, S]``.
    """

    seeds: tuple[int, ...]
    steps: Int[np.ndarray, "S"]
    values: Float[np.ndarray, "R S"]


SeedTable = Mapping[tuple[str, str], SeedValues]
"""``(setting, metric) -> SeedValues``."""
CurveTable = Mapping[tuple[str, str], Curve]
"""``(setting, metric) -> Curve``."""

NumSems = float | Callable[[int], float]
"""Half length of a bar in standard errors, or a function of the number of seeds that gives it."""

Entry = TypeVar("Entry", SeedValues, Curve)


def look_up(table: Mapping[tuple[str, str], Entry], setting: str, metric: str) -> Entry:
    """The entry of one setting and metric.

    Raises:
        ValueError: the table has no such entry; the message lists what it has.
    """
    if (setting, metric) in table:
        return table[setting, metric]
    metrics = sorted(m for s, m in table if s == setting)
    if metrics:
        raise ValueError(f"setting {setting!r} has no metric {metric!r}; it has {metrics}.")
    raise ValueError(f"no setting {setting!r}; there are {sorted({s for s, _ in table})}.")


def mean_and_sem(
    values: Float[np.ndarray, "R *marks"],
) -> tuple[Float[np.ndarray, "*marks"], Float[np.ndarray, "*marks"]]:
    """Mean over seeds and its standard error, ``std(ddof=1) / sqrt(R)``.

    Returns:
        Mean and standard error; the standard error of a single seed is NaN.
    """
    num_seeds = values.shape[0]
    mean = np.asarray(values.mean(axis=0))
    if num_seeds < 2:
        return mean, np.full_like(mean, np.nan)
    return mean, np.asarray(values.std(axis=0, ddof=1) / np.sqrt(num_seeds))


def half_width(
    values: Float[np.ndarray, "R *marks"], num_sems: NumSems
) -> Float[np.ndarray, "*marks"]:
    """Half length of the bar about the mean over seeds; 0 for a single seed."""
    multiple = num_sems(len(values)) if callable(num_sems) else num_sems
    return np.asarray(multiple * np.nan_to_num(mean_and_sem(values)[1]))
