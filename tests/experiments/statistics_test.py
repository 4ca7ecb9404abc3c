import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings, strategies as st

from experiments.harness.statistics import (
    median_interval,
    paired_difference,
    paired_slope,
    sign_flip_p,
    t_interval,
    wilson_interval,
)


def seed_values(values, seeds=None):
    return pd.Series(values, index=seeds, dtype=float)


@settings(max_examples=25)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=9).filter(lambda v: len(set(v)) > 1))
def test_the_interval_is_scipys(values):
    values = np.array(values, float)
    interval = t_interval(values)
    sem = scipy.stats.sem(values)
    low, high = scipy.stats.t.interval(0.95, len(values) - 1, loc=values.mean(), scale=sem)
    np.testing.assert_allclose(interval[:4], [values.mean(), sem, low, high], atol=1e-9)
    assert interval.num_seeds == len(values)


@pytest.mark.parametrize(("num", "low", "high"), [(6, 1, 6), (9, 2, 8), (25, 8, 18)])
def test_the_interval_of_a_median_has_two_of_the_values_as_ends(num, low, high):
    # from a table of the binomial distribution: no more than 2.5 % lie beyond either end
    values = np.random.default_rng(0).permutation(np.arange(1.0, num + 1))
    found = median_interval(values)
    assert (found.mean, found.low, found.high, found.num_seeds) == (
        np.median(values),
        low,
        high,
        num,
    )
    logarithm = median_interval(np.log(values))
    np.testing.assert_allclose(np.exp(logarithm[2:4]), [low, high])


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 5, [1.0, math.nan, *[2.0] * 7]])
def test_too_few_values_or_one_not_finite_leave_a_median_without_an_interval(values):
    assert median_interval(np.array(values))[2:4] == (-math.inf, math.inf)


def test_pairing_matches_the_seeds_and_agrees_with_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.5, 1, 8), rng.normal(0, 1, 8)
    ours = paired_difference(
        seed_values([*first, 77.0], seeds=[*range(8), 20]),
        seed_values([-77.0, *second], seeds=[-1, *range(8)]),
    )
    theirs = scipy.stats.ttest_rel(first, second).confidence_interval(0.95)
    np.testing.assert_allclose(ours[2:4], [theirs.low, theirs.high], rtol=1e-9)
    assert ours.num_seeds == 8


def test_the_slope_is_fitted_seed_by_seed():
    rng = np.random.default_rng(1)
    values, positions = rng.normal(size=(3, 4)), [0.0, 1.0, 3.0]
    interval = paired_slope([seed_values(row) for row in values], positions)
    slopes = np.array([np.polyfit(positions, column, 1)[0] for column in values.T])
    np.testing.assert_allclose(interval[:2], [slopes.mean(), scipy.stats.sem(slopes)])
    by_rank = paired_slope([seed_values(row) for row in values])
    np.testing.assert_allclose(by_rank.mean, (values[2] - values[0]).mean() / 2)


@pytest.mark.parametrize(
    ("values", "mean"), [([], math.nan), ([0.3], 0.3), ([1.0, math.nan], math.nan)]
)
def test_without_two_finite_seeds_the_interval_is_everything(values, mean):
    interval = t_interval(np.array(values))
    np.testing.assert_equal(interval[:4], [mean, math.nan, -math.inf, math.inf])
    assert interval.num_seeds == len(values)


@pytest.mark.parametrize(("successes", "num"), [(1, 20), (77, 2000), (19, 20)])
def test_a_share_is_z_standard_errors_from_both_ends_of_its_wilson_interval(successes, num):
    share = successes / num
    for end in wilson_interval(share, num):
        error = math.sqrt(end * (1 - end) / num)
        assert abs(share - end) == pytest.approx(1.959964 * error, rel=1e-6)


@pytest.mark.parametrize("bound", [0.0, 0.1, -0.3])
def test_the_exact_p_value_is_the_share_of_sign_changes_that_are_as_far_out(bound):
    first = seed_values([0.9, 0.2, 1.0, 0.7, 0.3, 0.8], range(6))
    second = seed_values([0.1, 0.3, 0.1, 0.2, 0.1, 0.9, 0.5], range(7))  # the last has no pair
    distances = (first - second).dropna().to_numpy() - bound
    signs = np.array(list(itertools.product([-1, 1], repeat=6)))
    sums = signs @ distances
    high, low = (sums >= distances.sum() - 1e-12), (sums <= distances.sum() + 1e-12)
    expected = min(1.0, 2 * min(high.mean(), low.mean()))
    assert sign_flip_p(first, second, bound) == pytest.approx(expected)


def test_without_two_finite_pairs_there_is_no_exact_p_value():
    assert math.isnan(sign_flip_p(seed_values([0.3]), seed_values([0.1]), 0.0))
    assert math.isnan(sign_flip_p(seed_values([0.3, np.nan]), seed_values([0.1, 0.2]), 0.0))
