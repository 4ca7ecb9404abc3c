"""Values of several seeds: means, standard errors and bars."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


class Curve(NamedTuple):
    """A metric along training.

    Attributes:
        steps: number of updates done at each mark, ascending, ``[S]``.
        values: the metric for each seed at each mark, ``[R, S]``.
    """

    steps: Int[np.ndarray, "S"]
    values: Float[np.ndarray, "R S"]


NumSems = float | Callable[[int], float]
"""Half length of a bar in standard errors, or a function of the number of seeds that returns it."""


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


def within(
    ends: tuple[float, float], mean: Float[np.ndarray, "N"], half: Float[np.ndarray, "*N"]
) -> Float[np.ndarray, "2 N"]:
    """Lengths of bars below and above their means, clipped at two ends."""
    low, high = ends
    return np.clip([np.minimum(half, mean - low), np.minimum(half, high - mean)], 0.0, None)
