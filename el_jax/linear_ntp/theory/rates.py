"""Slopes fitted to the tail of a curve, and their sensitivity to where the tail begins."""

from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float, Float64


class RateFit(NamedTuple):
    """A straight line through the points of a window.

    Attributes:
        slope: dy/dx.
        intercept: y at x = 0.
        window: first and last x of the points used.
        sensitivity: slopes over the window's parts, its first and last two thirds and its two
            halves; their spread shows how far the curve is from a line.
    """

    slope: float
    intercept: float
    window: tuple[float, float]
    sensitivity: Float64[np.ndarray, "4"]


def fit_rate(
    x: Float[ArrayLike, "..."], y: Float[ArrayLike, "..."], *, window: tuple[float, float]
) -> RateFit:
    """Least-squares line through the points whose x lies in a window.

    For a power law pass ``log x`` and ``log y``: the slope is the exponent, and every point has the
    same weight in ratio. Points that are not finite, such as the log of 0, are left out. A window
    in log k should span three decades before a logarithmic rate is claimed.

    Args:
        x: abscissae.
        y: ordinates.
        window: smallest and largest x.

    Raises:
        ValueError: if shapes differ, or a part of the window holds fewer than two points.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"x {x.shape} and y {y.shape}: must be vectors of one length")
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    low, high = window
    used = x[(x >= low) & (x <= high)]
    slope, intercept = _line(x, y, low, high)
    width = high - low
    parts = [(0, 2 / 3), (1 / 3, 1), (0, 1 / 2), (1 / 2, 1)]
    sensitivity = [_line(x, y, low + a * width, low + b * width)[0] for a, b in parts]
    return RateFit(slope, intercept, (float(used.min()), float(used.max())), np.array(sensitivity))


def _line(x: np.ndarray, y: np.ndarray, low: float, high: float) -> tuple[float, float]:
    inside = (x >= low) & (x <= high)
    if np.unique(x[inside]).size < 2:
        raise ValueError(f"{inside.sum()} points with x in [{low:g}, {high:g}]: must be at least 2")
    centre = x[inside].mean()
    offset = x[inside] - centre
    slope = float(offset @ y[inside] / (offset @ offset))
    return slope, float(y[inside].mean() - slope * centre)
