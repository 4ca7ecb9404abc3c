"""Means over seeds and Student-t intervals, for single settings and paired comparisons.

Settings are compared by their difference seed by seed. A seed fixes the data (training and test
strings, or a linear problem), the initialisation and the order of updates for all settings alike,
so intervals cover data sets as well as initialisations.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.stats
from jaxtyping import Float

from el_jax.plots.arrays import mean_and_sem

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A mean over seeds with its Student-t interval.

    Attributes:
        mean: the mean.
        sem: its standard error; NaN with fewer than two seeds.
        low: lower end of the interval; -inf with fewer than two seeds, with two equal values (whose
            interval would have no width), or with a value that is not finite.
        high: upper end, +inf likewise.
        num_seeds: number of seeds.
    """

    mean: float
    sem: float
    low: float
    high: float
    num_seeds: int


def t_interval(entry: pd.Series | Float[np.ndarray, "R"]) -> Interval:
    """Mean, standard error and two-sided Student-t interval of the mean over seeds."""
    values = np.asarray(entry, float)
    num_seeds = len(values)
    if num_seeds < 2 or not np.isfinite(values).all():
        mean = float(values[0]) if num_seeds == 1 else math.nan
        return Interval(mean, math.nan, -math.inf, math.inf, num_seeds)
    if num_seeds > 2 and np.allclose(values, values[0], rtol=1e-12, atol=0):
        same = float(values[0])  # whose mean may differ from it, and its spread from 0, by rounding
        return Interval(same, 0.0, same, same, num_seeds)
    mean, sem = (float(number) for number in mean_and_sem(values))
    if num_seeds == 2 and np.isclose(values[0], values[1], rtol=1e-12, atol=1e-12):
        return Interval(mean, sem, -math.inf, math.inf, num_seeds)
    half_width = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, num_seeds - 1)) * sem
    return Interval(mean, sem, mean - half_width, mean + half_width, num_seeds)


def median_interval(entry: pd.Series | Float[np.ndarray, "R"]) -> Interval:
    """Median over seeds and its distribution-free interval (Thompson 1936).

    The ends are two of the ordered values, chosen so that the interval has at least its nominal
    coverage for any distribution; 95 % requires six values. It suits timings, which are skewed and
    have outliers, and commutes with taking the logarithm of a ratio.

    Returns:
        The median, as ``mean``, and its interval; without a standard error.
    """
    values = np.asarray(entry, float)
    if not len(values) or not np.isfinite(values).all():
        return Interval(math.nan, math.nan, -math.inf, math.inf, len(values))
    median = float(np.median(values))
    ends = scipy.stats.quantile_test(values, q=median, p=0.5).confidence_interval(CONFIDENCE)
    low, high = ends if np.isfinite(ends).all() else (-math.inf, math.inf)
    return Interval(median, math.nan, float(low), float(high), len(values))


def paired_difference(first: pd.Series, second: pd.Series) -> Interval:
    """Interval of ``first - second``, differenced seed by seed over the seeds both have."""
    return contrast_interval([first, second], [1.0, -1.0])


def contrast_interval(entries: Sequence[pd.Series], weights: Sequence[float]) -> Interval:
    """Interval of a weighted sum of settings, summed seed by seed over the seeds all have."""
    values = _aligned(entries)
    sums = np.asarray(weights) @ values
    # equal settings differ by nothing, not by their rounding
    rounding = 1e-12 * np.abs(values).max(0, initial=0.0)
    return t_interval(np.where(np.abs(sums) <= rounding, 0.0, sums))


def p_value(interval: Interval, bound: float, *, at_bound: float = 1.0) -> float:
    """Two-sided p value of Student's t test that a mean over seeds is ``bound``.

    NaN if the interval has no ends. If all of three or more seeds have the same value, that of a
    sign test, since nothing is known of the spread; ``at_bound`` where the value is the bound, if
    that is larger: 0 for a claim that the bound itself fulfils.
    """
    if not math.isfinite(interval.low):
        return math.nan
    if interval.sem == 0:
        signs = 2.0 ** (1 - interval.num_seeds)
        return max(signs, at_bound) if interval.mean == bound else signs
    t = abs(interval.mean - bound) / interval.sem
    return float(2 * scipy.stats.t.sf(t, interval.num_seeds - 1))


def p_as_large(interval: Interval, matters: float) -> float:
    """Two-sided p value of Student's t test that a mean is at least ``matters`` away from 0."""
    if not math.isfinite(interval.low) or abs(interval.mean) >= matters:
        return 1.0
    return p_value(interval, math.copysign(matters, interval.mean))


def sign_flip_p(first: pd.Series, second: pd.Series, bound: float) -> float:
    """Exact two-sided p value that ``first - second - bound`` is symmetric around 0.

    Twice the smaller share of sign flips that make the sum at least as high, or at least as low, as
    observed. It suits shares of answers, which are bounded and often lie at either end. Exact for
    up to 16 seeds; for more, it uses 100,000 random flips. NaN for fewer than two seeds.
    """
    values = _aligned([first, second])
    distances = values[0] - values[1] - bound
    if len(distances) < 2 or not np.isfinite(distances).all():
        return math.nan
    test = scipy.stats.permutation_test(
        (distances,), np.sum, permutation_type="samples", n_resamples=100_000, rng=0
    )
    return float(test.pvalue)


def paired_slope(
    entries: Sequence[pd.Series], positions: Sequence[float] | None = None
) -> Interval:
    """Interval of the least-squares slope over settings, fitted seed by seed.

    Args:
        entries: one per setting, in order, indexed by seed; only common seeds are used.
        positions: the position of each setting; by default 0, 1, 2, ..., so that the slope is the
            change from one setting to the next.

    Raises:
        ValueError: fewer than two settings, or not one position for each.
    """
    x = np.arange(len(entries), dtype=float) if positions is None else np.asarray(positions, float)
    if len(x) != len(entries) or len(x) < 2:
        raise ValueError(f"{len(x)} positions for {len(entries)} settings; need two or more each.")
    centred = x - x.mean()
    slopes = centred @ _aligned(entries) / (centred @ centred)
    return t_interval(slopes)


def wilson_interval(share: float, num: int) -> tuple[float, float]:
    """Wilson's interval for a probability, from the share of successes in ``num`` trials.

    The share is rounded to a whole number of successes.
    """
    interval = scipy.stats.binomtest(round(share * num), num).proportion_ci(CONFIDENCE, "wilson")
    return float(interval.low), float(interval.high)


def _aligned(entries: Sequence[pd.Series]) -> Float[np.ndarray, "entries R"]:
    """The values of the seeds that all entries have."""
    return pd.concat(entries, axis=1, join="inner").sort_index().to_numpy().T


def describe(entry: pd.Series) -> str:
    """``mean ± standard error (number of seeds)``, to three decimals."""
    if bad := int((~np.isfinite(entry)).sum()):
        return f"not finite for {bad} of {describe_seeds([len(entry)])}"
    return f"{describe_mean(entry)} ({describe_seeds([len(entry)])})"


def clipped(interval: Interval, low: float, high: float) -> Interval:
    """The interval, clipped to the possible values of its quantity."""
    if math.isinf(interval.low):  # no interval
        return interval
    return interval._replace(low=max(interval.low, low), high=min(interval.high, high))


def explain(quantity: str, interval: Interval, *, form: str = ".3f", fewest: int = 2) -> str:
    """The sentence that states the interval behind a verdict."""
    seeds = describe_seeds([interval.num_seeds])
    if interval.num_seeds < fewest:
        return f"{quantity} over {seeds}: an interval needs at least {fewest}"
    if math.isnan(interval.mean):
        return f"{quantity} over {seeds}: some value is not finite"
    if math.isinf(interval.low):
        return f"{quantity} over {seeds}: two equal values have no interval"
    return (
        f"{quantity} {interval.mean:{form}}, {CONFIDENCE:.0%} interval "
        f"[{interval.low:{form}}, {interval.high:{form}}], {seeds}"
    )


def describe_mean(entry: pd.Series) -> str:
    """``mean ± standard error``, to three decimals; a lone seed has no standard error."""
    interval = t_interval(entry)
    if interval.num_seeds < 2:
        return f"{interval.mean:.3f}"
    return f"{interval.mean:.3f} ± {interval.sem:.3f}"


def describe_number(value: float) -> str:
    """Three significant digits, such as ``0.0408``; whole from 1,000 up."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def describe_seeds(numbers: Sequence[int]) -> str:
    """``1 seed``, ``10 seeds`` or, when the numbers differ, ``5–10 seeds``."""
    fewest, most = min(numbers), max(numbers)
    if fewest != most:
        return f"{fewest}–{most} seeds"
    return f"{most} seed" if most == 1 else f"{most} seeds"
