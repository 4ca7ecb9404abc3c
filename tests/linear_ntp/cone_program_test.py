"""Max margins in the spectral and nuclear norm by a cone program, for small problems."""

import numpy as np
import pytest
from clarabel_peer import clarabel_max_margin
from margin_problems import SEPARABLE, balanced, with_embeddings

from el_jax.linear_ntp import facet_problem, figure1_problem, random_problem
from el_jax.linear_ntp.solvers.cone_program import cone_bracket, is_small
from el_jax.linear_ntp.solvers.dual import shows_inseparable
from el_jax.linear_ntp.solvers.scaling import scaled


def shifted(problem, mean):
    direction = np.random.default_rng(1).standard_normal((problem.dim, 1))
    return with_embeddings(problem, problem.embeddings + mean * direction)


@pytest.mark.parametrize(("norm", "order"), [("spectral", 2), ("nuclear", "nuc")])
@pytest.mark.parametrize("mean", [0, 10])
def test_agrees_with_cvxpy(mean, norm, order):
    problem = shifted(random_problem(5, 4, 5, 1, seed=3), mean)
    alike = scaled(problem)
    found = cone_bracket(alike, norm, 1e-10)
    expected = np.linalg.norm(clarabel_max_margin(problem, norm), order)
    assert found.gap <= 1e-10
    np.testing.assert_allclose(alike.unit / found.lower, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "problem",
    [figure1_problem(), random_problem(20, 24, 8, 3), facet_problem(60, 8, 24, 6, spread=0.5)],
)
def test_reaches_the_certified_gap_where_configs_and_experiments_ask_for_it(problem):
    assert abs(cone_bracket(scaled(problem), "spectral", 1e-10).gap) <= 1e-10


@pytest.mark.parametrize(("norm", "gap"), [("spectral", 1e-9), ("nuclear", 1e-7)])
@pytest.mark.parametrize("family", SEPARABLE)
def test_every_family_is_solved(family, norm, gap):
    assert abs(cone_bracket(scaled(family(1)), norm, 1e-10).gap) <= gap


def test_its_multipliers_show_that_there_is_no_margin():
    problem = scaled(balanced(1))
    found = cone_bracket(problem, "spectral", 1e-10)
    assert found.lower == 0
    assert shows_inseparable(problem, found.dual)


def test_large_problems_are_left_to_splitting():
    assert is_small(scaled(random_problem(20, 24, 8, 3)))
    assert not is_small(scaled(random_problem(100, 100, 60, 3)))
