"""The interior-point method for the spectral norm, and the cone it moves in."""

import numpy as np
import pytest
from clarabel_peer import clarabel_max_margin
from hypothesis import given, settings, strategies as st
from margin_problems import correlated, facets, rank_deficient, with_embeddings

from el_jax.linear_ntp import max_margin, random_problem
from el_jax.linear_ntp.solvers.choice import SOLVERS
from el_jax.linear_ntp.solvers.dual import MarginBracket, bracket, least_margin
from el_jax.linear_ntp.solvers.interior_point import interior_bracket, is_small
from el_jax.linear_ntp.solvers.scaling import scaled
from el_jax.linear_ntp.solvers.self_scaled_cone import Point, alike, unravel


def interior(problem, tolerance=1e-10):
    """The bracket from the first decoder that separates."""
    alike = scaled(problem)
    first = SOLVERS["frobenius"](alike, np.inf, None)
    start = bracket(alike, first.w, first.dual, "spectral", 0)
    return alike, interior_bracket(alike, start, tolerance=tolerance)


def shifted(problem, mean):
    direction = np.random.default_rng(1).standard_normal((problem.dim, 1))
    return with_embeddings(problem, problem.embeddings + mean * direction)


@pytest.mark.parametrize("mean", [0, 10])
def test_agrees_with_clarabel(mean):
    problem = shifted(random_problem(5, 4, 5, 1, seed=3), mean)
    alike, found = interior(problem)
    expected = np.linalg.norm(clarabel_max_margin(problem, "spectral"), 2)
    assert found.gap <= 1e-10
    np.testing.assert_allclose(alike.unit / found.lower, expected, rtol=1e-6)


@pytest.mark.parametrize("mean", [10, 1e2, 1e3])
@pytest.mark.parametrize("shape", [(5, 4, 5, 1), (15, 10, 8, 1), (10, 12, 8, 3)])
def test_a_common_mean_is_no_obstacle(mean, shape):
    problem = shifted(random_problem(*shape, seed=1), mean)
    assert abs(max_margin(problem, "spectral", tolerance=1e-6).gap) <= 1e-6


@pytest.mark.parametrize("family", [correlated, facets, rank_deficient])
def test_every_family_is_solved(family):
    _, found = interior(family(1), tolerance=1e-8)
    assert abs(found.gap) <= 1e-8


def test_large_problems_are_left_to_splitting():
    assert is_small(scaled(random_problem(20, 24, 8, 3)))
    assert not is_small(scaled(random_problem(100, 100, 60, 3)))


def test_a_start_that_does_not_separate_is_given_back():
    problem = scaled(random_problem(5, 4, 5, 1, seed=3))
    w = np.random.default_rng(0).standard_normal((5, 4))
    start = MarginBracket(w, np.zeros((5, 5)), 0.0, np.inf, 0)
    assert least_margin(problem, w) < 0
    assert interior_bracket(problem, start, tolerance=1e-10) is start


def definite(rng, rows):
    factor = rng.standard_normal((rows, rows))
    return factor @ factor.T + 0.1 * np.eye(rows)


@settings(derandomize=True, max_examples=20, deadline=None)
@given(count=st.integers(1, 5), rows=st.integers(1, 6), seed=st.integers(0, 2**31))
def test_a_scaling_takes_slack_and_multiplier_to_one_diagonal_point(count, rows, seed):
    rng = np.random.default_rng(seed)
    slack, multiplier = (Point(rng.uniform(0.1, 9, count), definite(rng, rows)) for _ in range(2))
    scaling, diagonal = alike(slack, multiplier)
    taken = scaling.inverse @ slack.matrix @ scaling.inverse.T
    np.testing.assert_allclose(taken, diagonal.point.matrix, atol=1e-8)
    np.testing.assert_allclose(slack.numbers / scaling.numbers, diagonal.numbers, rtol=1e-12)
    back = scaling.multiplier(diagonal.point)
    np.testing.assert_allclose(back.numbers, multiplier.numbers, rtol=1e-12)
    np.testing.assert_allclose(back.matrix, multiplier.matrix, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(slack.dot(multiplier), diagonal.level * (count + rows), rtol=1e-9)
    np.testing.assert_allclose(slack.ravel() @ multiplier.ravel(), slack.dot(multiplier))
    again = unravel(slack.ravel(), slack)
    np.testing.assert_allclose(again.matrix, slack.matrix, rtol=1e-14)
    direction = Point(rng.standard_normal(count), definite(rng, rows) - definite(rng, rows))
    divided = diagonal.divided(direction)
    np.testing.assert_allclose(
        diagonal.point.jordan(divided).matrix, direction.matrix, rtol=1e-8, atol=1e-8
    )
    reach = diagonal.reach(direction)
    inside = diagonal.point.plus(direction, reach)
    assert min(inside.numbers.min(), np.linalg.eigvalsh(inside.matrix)[0]) > -1e-9
    if reach < 1:
        outside = diagonal.point.plus(direction, 1.05 * reach)
        assert min(outside.numbers.min(), np.linalg.eigvalsh(outside.matrix)[0]) < 0
