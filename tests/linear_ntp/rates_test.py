import numpy as np
import pytest

from el_jax.linear_ntp import fit_rate

X = np.linspace(0, 9, 37)


def test_a_line_is_found_and_does_not_depend_on_the_window():
    fit = fit_rate(X, 3 - 2 * X, window=(1.0, 8.0))
    assert (fit.slope, fit.intercept) == pytest.approx((-2, 3))
    assert fit.window == (1, 8)
    np.testing.assert_allclose(fit.sensitivity, -2)


def test_a_curve_shows_in_the_sensitivity():
    fit = fit_rate(X, X**2, window=(0.0, 9.0))  # the chord of x² over [a, b] has slope a + b
    assert fit.slope == pytest.approx(9)
    np.testing.assert_allclose(fit.sensitivity, [6, 12, 4.5, 13.5], atol=0.3)


def test_only_finite_points_of_the_window_count():
    y = np.where(X < 2, 100.0, X)
    y[20] = -np.inf
    assert fit_rate(X, y, window=(2.0, 9.0)).slope == pytest.approx(1)


def test_a_slope_is_that_of_least_squares():
    y = np.random.default_rng(0).standard_normal(len(X))
    fit = fit_rate(X, y, window=(0.0, 9.0))
    np.testing.assert_allclose([fit.slope, fit.intercept], np.polyfit(X, y, 1), rtol=1e-10)
