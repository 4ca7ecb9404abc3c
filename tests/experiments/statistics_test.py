import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings, strategies as st

from el_jax.plots import SeedValues
from experiments.statistics import (
    describe,
    paired_difference,
    paired_slope,
    t_cdf,
    t_interval,
    t_quantile,
)


def seed_values(values, seeds=None):
    return SeedValues(tuple(seeds or range(len(values))), np.array(values, float))


@pytest.mark.parametrize("degrees_of_freedom", [1, 2, 3, 4, 9, 10, 99, 100])
def test_student_t_agrees_with_scipy(degrees_of_freedom):
    student = scipy.stats.t(degrees_of_freedom)
    for t in (-30.0, -1.0, 0.0, 0.3, 2.0, 50.0):
        np.testing.assert_allclose(t_cdf(t, degrees_of_freedom), student.cdf(t), atol=1e-13)
    for p in (0.005, 0.025, 0.5, 0.9, 0.975, 0.995):
        np.testing.assert_allclose(
            t_quantile(p, degrees_of_freedom), student.ppf(p), rtol=1e-9, atol=1e-12
        )


def test_the_textbook_quantile():
    assert round(t_quantile(0.975, 9), 3) == 2.262


@pytest.mark.parametrize(("p", "dof"), [(0.0, 3), (1.0, 3), (0.5, 0)])
def test_a_quantile_that_does_not_exist_is_an_error(p, dof):
    with pytest.raises(ValueError, match="must be"):
        t_quantile(p, dof)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=9).filter(lambda v: len(set(v)) > 1))
def test_the_interval_is_scipys(values):
    values = np.array(values, float)
    interval = t_interval(values)
    sem = scipy.stats.sem(values)
    low, high = scipy.stats.t.interval(0.95, len(values) - 1, loc=values.mean(), scale=sem)
    np.testing.assert_allclose(interval[:4], [values.mean(), sem, low, high], atol=1e-9)
    assert interval.num_seeds == len(values)


def test_pairing_matches_the_seeds_and_agrees_with_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.5, 1, 8), rng.normal(0, 1, 8)
    ours = paired_difference(
        seed_values([*first, 77.0], seeds=[*range(8), 20]),
        seed_values([-77.0, *second], seeds=[-1, *range(8)]),
        confidence=0.9,
    )
    theirs = scipy.stats.ttest_rel(first, second).confidence_interval(0.9)
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


def test_a_slope_needs_two_settings_and_their_positions():
    one = seed_values([1.0, 2.0])
    with pytest.raises(ValueError, match="1 positions for 1 settings"):
        paired_slope([one])
    with pytest.raises(ValueError, match="3 positions for 2 settings"):
        paired_slope([one, one], [1, 2, 3])


@pytest.mark.parametrize(
    ("values", "mean"), [([], math.nan), ([0.3], 0.3), ([1.0, math.nan], math.nan)]
)
def test_without_two_finite_seeds_the_interval_is_everything(values, mean):
    interval = t_interval(np.array(values))
    np.testing.assert_equal(interval[:4], [mean, math.nan, -math.inf, math.inf])
    assert interval.num_seeds == len(values)


def test_numbers_are_described_with_their_error_and_seeds():
    assert describe(seed_values([1.0, 2.0, 6.0])) == "3.000 ± 1.528 (3 seeds)"
    assert describe(seed_values([0.5])) == "0.500 (1 seed)"
