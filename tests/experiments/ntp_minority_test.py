"""The flow of ntp_minority in closed form, and groups with the α that was asked for."""

import numpy as np
import pytest

from experiments.ntp_minority.run import flow, groups_of, separator


def test_the_margin_of_one_example_grows_as_its_closed_form():
    times, margins = flow(np.array([[1.5, -0.5]]), np.array([0.3]), last=8, num=5)
    m = margins[:, 0]
    # dm/dt = c σ(-m) for c = .3 ‖x‖², so m + e^m - 1 = c t
    np.testing.assert_allclose(m + np.exp(m) - 1, 0.3 * 2.5 * times, rtol=1e-5)


@pytest.mark.parametrize("alpha", [0.4, 2.0])
def test_the_minority_has_the_margin_that_was_asked_for(alpha):
    majority, minority = groups_of(3, alpha)
    w = separator(majority)
    assert (majority @ w).min() == pytest.approx(1.0)
    assert (minority @ w).min() == pytest.approx(alpha, abs=1e-6)
    np.testing.assert_array_equal(majority[:, 0], majority[:, -1])
