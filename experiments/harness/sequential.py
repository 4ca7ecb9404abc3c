"""Tests that may be checked after every seed: betting on a bounded mean.

Waudby-Smith and Ramdas 2024, *Estimating means of bounded random variables by betting*: a player
who bets, before seeing each value, that it is above a bound does not gain in expectation if the
mean is at most that bound. So the probability that the capital ever exceeds 1 / α is at most α.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.optimize
from jaxtyping import Float

from experiments.harness.judging import Outcome, Verdict
from experiments.harness.statistics import CONFIDENCE, describe_seeds

FRACTIONS = (np.arange(32) + 0.5) / 32  # of the largest bet
WIDTH = 0.15  # of the fractions around the best one for the effect that matters
EDGE = 1e-9  # of a range, within which no bound is tested


class Range(NamedTuple):
    """The range of values."""

    low: float
    high: float


SHARES, DIFFERENCES = Range(0.0, 1.0), Range(-1.0, 1.0)


def p_above(
    values: Float[np.ndarray, "R"], bound: float, within: Range, matters: float = 0.0
) -> float:
    """P value of the hypothesis that the mean is at most ``bound``, valid at any look.

    Args:
        values: values in the order in which they were seen.
        bound: bound on the mean.
        within: the range of values.
        matters: the distance to the bound that matters, if declared: half of the capital then uses
            the best fractions for it, the other half all fractions.

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
        # for values at both ends of the range the best fraction is about twice the effect
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
    """P value of the hypothesis that the mean is at least ``bound``: see ``p_above``."""
    turned = Range(-within.high, -within.low)
    return p_above(-np.asarray(values, float), -bound, turned, matters)


def p_equal(
    values: Float[np.ndarray, "R"], bound: float, within: Range, matters: float = 0.0
) -> float:
    """Two-sided p value of the hypothesis that the mean is ``bound``."""
    sides = (side(values, bound, within, matters) for side in (p_above, p_below))
    return min(1.0, 2 * min(sides))


def p_beyond(values: Float[np.ndarray, "R"], matters: float, within: Range) -> float:
    """Two-sided p value of the hypothesis that the mean is at least ``matters`` away from 0."""
    near = (p_below(values, matters, within), p_above(values, -matters, within))
    return min(1.0, 2 * max(near))


def judged_by_bets(
    quantity: str,
    values: Float[np.ndarray, "R"],
    bound: float,
    within: Range,
    *,
    above: bool = True,
    matters: float = 0.0,
) -> Outcome:
    """The verdict on the claim that a mean is above a bound, or below it.

    Args:
        quantity: name of the quantity.
        values: values in the order in which they were seen.
        bound: bound on the mean.
        within: the range of values.
        above: the claim is that the mean is above the bound.
        matters: the least distance from 0 that matters; a mean shown to be nearer is too small.
    """
    seeds = describe_seeds([len(values)])
    if not len(values) or not np.all((values >= within.low) & (values <= within.high)):
        return Outcome(
            f"{quantity} over {seeds}: bets need values from {within.low} to {within.high}"
        )
    low, high = anytime_interval(values, within, CONFIDENCE)
    p, verdict = p_equal(values, bound, within, matters), Verdict.UNDECIDED
    if p <= 1 - CONFIDENCE:
        found = p_above(values, bound, within, matters) < p_below(values, bound, within, matters)
        verdict = Verdict.HOLDS if found == above else Verdict.FAILS
    elif matters and (p_small := p_beyond(values, matters, within)) <= 1 - CONFIDENCE:
        p, verdict = p_small, Verdict.SMALL
    detail = (
        f"{quantity} {np.mean(values):+.3f}, {CONFIDENCE:.0%} interval at every look "
        f"[{low:+.3f}, {high:+.3f}], {seeds}"
    )
    return Outcome(detail, "", verdict, p)


def anytime_interval(
    values: Float[np.ndarray, "R"], within: Range, confidence: float
) -> tuple[float, float]:
    """Bounds not refuted at any look; they enclose the mean at all looks with ``confidence``."""
    edge = EDGE * (within.high - within.low)
    start, stop = within.low + edge, within.high - edge

    def low_excess(bound: float) -> float:
        return p_above(values, bound, within) - (1 - confidence) / 2

    def high_excess(bound: float) -> float:
        return p_below(values, bound, within) - (1 - confidence) / 2

    low = scipy.optimize.brentq(low_excess, start, stop) if low_excess(start) < 0 else within.low
    high = scipy.optimize.brentq(high_excess, start, stop) if high_excess(stop) < 0 else within.high
    return float(low), float(high)
