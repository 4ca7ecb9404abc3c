"""Ratios of two timings, interleaved so that a drift of the machine's speed cancels."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Timing = Callable[[], float]  # does the work once and gives its seconds


class Comparison(NamedTuple):
    """The times of two sides, and their ratio, of each round.

    Attributes:
        ratios: time of the second side over time of the first.
        first_seconds: mean time of the first side.
        second_seconds: mean time of the second side.
    """

    ratios: Float[np.ndarray, "rounds"]
    first_seconds: Float[np.ndarray, "rounds"]
    second_seconds: Float[np.ndarray, "rounds"]


def compare(first: Timing, second: Timing, rounds: int) -> Comparison:
    """Time two sides in rounds of first, second, second, first; one more round warms up.

    Both sides have the same mean place in a round, so that a machine that slows down at a steady
    pace slows both sums alike.

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
    of_first, of_second = (np.array(seconds[1:])[:, part].mean(1) for part in ([0, 3], [1, 2]))
    return Comparison(of_second / of_first, of_first, of_second)
