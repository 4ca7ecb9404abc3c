"""Ratios of two timings, interleaved so that a drift of the machine's speed cancels."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

CONFIDENCE = 0.95
Timing = Callable[[], float]  # does the work once and gives its seconds


class Estimate(NamedTuple):
    """A median with the ends of its bootstrap interval."""

    value: float
    low: float
    high: float


class Comparison(NamedTuple):
    """The times of two sides, and their ratio.

    Attributes:
        ratio: time of the second side over time of the first.
        first_seconds: median time of the first side.
        second_seconds: median time of the second side.
    """

    ratio: Estimate
    first_seconds: float
    second_seconds: float


def compare(first: Timing, second: Timing, rounds: int) -> Comparison:
    """Time two sides in rounds of first, second, second, first; one more round warms up.

    Raises:
        ValueError: fewer than one round.
    """
    seconds = time_abba(first, second, rounds)
    return Comparison(
        median_interval(round_ratios(seconds)),
        float(np.median(seconds[:, [0, 3]])),
        float(np.median(seconds[:, [1, 2]])),
    )


def time_abba(first: Timing, second: Timing, rounds: int) -> Float[np.ndarray, "rounds 4"]:
    """Seconds of each run, in the order first, second, second, first.

    Args:
        first: one side.
        second: the other.
        rounds: number of rounds kept; one more before them warms up.

    Raises:
        ValueError: fewer than one round.
    """
    if rounds < 1:
        raise ValueError(f"rounds={rounds}: must be at least 1")
    seconds = [[side() for side in (first, second, second, first)] for _ in range(rounds + 1)]
    return np.array(seconds[1:])


def round_ratios(seconds: Float[np.ndarray, "rounds 4"]) -> Float[np.ndarray, "rounds"]:
    """Time of the second side over time of the first, one ratio for each round.

    Both sides have the same mean place in a round, so that a machine that slows down at a steady
    pace slows both sums alike.
    """
    return seconds[:, [1, 2]].sum(1) / seconds[:, [0, 3]].sum(1)


def median_interval(
    values: Float[np.ndarray, "n"], resamples: int = 10_000, seed: int = 0
) -> Estimate:
    """Median and its percentile bootstrap interval (Efron 1979), at ``CONFIDENCE``.

    With nine or more values from a log-normal distribution, the interval covers the true median
    in 92 to 94 cases of 100.

    Args:
        values: independent measurements, at least one.
        resamples: number of draws of as many values, with replacement.
        seed: seed of these draws.
    """
    drawn = np.random.default_rng(seed).integers(len(values), size=(resamples, len(values)))
    medians = np.median(np.asarray(values)[drawn], axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Estimate(float(np.median(values)), float(low), float(high))
