"""Tests that may be looked at after every seed: betting on a bounded mean.

Waudby-Smith and Ramdas 2024, *Estimating means of bounded random variables by betting*: whoever
bets on each value being above a bound, before it is seen, does not gain in expectation if the mean
is at most that bound. So the capital exceeds 1 / α, ever, with probability at most α.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.optimize
from jaxtyping import Float

FRACTIONS = (np.arange(32) + 0.5) / 32  # of the most that a bet may risk
WIDTH = 0.15  # of the fractions around the one that suits the effect that matters
EDGE = 1e-9  # of a range, within which no bound is asked about


class Range(NamedTuple):
    """Where values can lie."""

    low: float
    high: float


SHARES, DIFFERENCES = Range(0.0, 1.0), Range(-1.0, 1.0)


def p_above(
    values: Float[np.ndarray, "R"], bound: float, within: Range, matters: float = 0.0
) -> float:
    """P value of the mean being at most ``bound``, valid whenever one looks.

    Args:
        values: in the order in which they were seen.
        bound: of the mean.
        within: where values can lie.
        matters: the distance to the bound that matters, if one was declared: half of the capital is
            then bet in fractions that suit it, the other half in all.

    Returns:
        One over the largest capital so far, at most 1.
    """
    risk = bound - within.low
    if risk <= 0:  # one value above the bound is proof
        return 0.0 if np.any(np.asarray(values) > bound) else 1.0
    if not len(values):
        return 1.0
    shares = np.full(len(FRACTIONS), 1 / len(FRACTIONS))
    if matters > 0:
        # of values at both ends of the range the best fraction is about twice the effect
        best = min(2 * matters / risk, 1.0)
        suited = np.exp(-0.5 * ((FRACTIONS - best) / WIDTH) ** 2)
        shares = 0.5 * shares + 0.5 * suited / suited.sum()
    odds = (np.asarray(values, float) - bound) / risk
    logs = np.log1p(FRACTIONS[:, None] * odds).cumsum(axis=1)
    largest = logs.max()
    capital = (shares @ np.exp(logs - largest)).max()
    return float(min(1.0, math.exp(-largest) / capital))


def p_below(
    values: Float[np.ndarray, "R"], bound: float, within: Range, matters: float = 0.0
) -> float:
    """P value of the mean being at least ``bound``: see ``p_above``."""
    turned = Range(-within.high, -within.low)
    return p_above(-np.asarray(values, float), -bound, turned, matters)


def p_equal(
    values: Float[np.ndarray, "R"], bound: float, within: Range, matters: float = 0.0
) -> float:
    """Two-sided p value of the mean being ``bound``."""
    sides = (side(values, bound, within, matters) for side in (p_above, p_below))
    return min(1.0, 2 * min(sides))


def p_beyond(values: Float[np.ndarray, "R"], matters: float, within: Range) -> float:
    """Two-sided p value of the mean being at least ``matters`` away from 0."""
    near = (p_below(values, matters, within), p_above(values, -matters, within))
    return min(1.0, 2 * max(near))


def anytime_interval(
    values: Float[np.ndarray, "R"], within: Range, confidence: float
) -> tuple[float, float]:
    """Bounds that no look has refuted; they enclose the mean at every look with ``confidence``."""
    edge = EDGE * (within.high - within.low)
    start, stop = within.low + edge, within.high - edge

    def low_excess(bound: float) -> float:
        return p_above(values, bound, within) - (1 - confidence) / 2

    def high_excess(bound: float) -> float:
        return p_below(values, bound, within) - (1 - confidence) / 2

    low = scipy.optimize.brentq(low_excess, start, stop) if low_excess(start) < 0 else within.low
    high = scipy.optimize.brentq(high_excess, start, stop) if high_excess(stop) < 0 else within.high
    return float(low), float(high)
