import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from el_jax.linear_ntp.solvers.dual import in_cone, project_on_cone
from el_jax.linear_ntp.theory.norms import logit_margin


def projection_by_sorting(column, inside):
    """The projection: tries every number of tokens below τ until one is consistent."""
    below = np.sort(column[~inside])
    for count in range(len(below) + 1):
        level = (column[inside].sum() + below[:count].sum()) / (inside.sum() + count)
        if (below[:count] <= level + 1e-12).all() and (below[count:] >= level - 1e-12).all():
            return np.where(inside, column - level, np.minimum(column - level, 0))
    raise AssertionError


@settings(max_examples=40)
@given(seed=st.integers(0, 2**31), decimals=st.sampled_from([0, 12]))
def test_projection_is_that_of_sorting(seed, decimals):
    rng = np.random.default_rng(seed)
    support = rng.random((6, 5)) < 0.4
    support[0] = True
    matrix = rng.standard_normal((6, 5)).round(decimals)  # no decimals: many ties
    expected = [projection_by_sorting(matrix[:, j], support[:, j]) for j in range(5)]
    np.testing.assert_allclose(in_cone(matrix, support).T, expected, atol=1e-13)


@pytest.mark.parametrize("level", [-1e3, 0.0, 0.1, 1e3])
def test_first_guess_does_not_matter(level):
    rng = np.random.default_rng(0)
    support = np.arange(6)[:, None] < np.array([[1, 2, 3, 6]])
    matrix = rng.standard_normal((6, 4))
    with jax.enable_x64(True):
        found = np.asarray(jax.jit(project_on_cone)(matrix, support, jnp.full((1, 4), level))[0])
    np.testing.assert_allclose(found, in_cone(matrix, support), atol=1e-13)
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-13)


def test_projection_ends_where_rounding_puts_tokens_on_either_side():
    # rounding moves the mean of three equal numbers off them: tokens would go in and out for ever
    support = np.zeros((3, 200), bool)
    support[0] = True
    matrix = np.tile(np.linspace(0.1, 0.7, 200), (3, 1))
    np.testing.assert_allclose(in_cone(matrix, support), 0, atol=1e-15)


def test_logit_margin():
    logits = np.array([[3.0, 1.0], [2.5, 4.0], [1.0, 0.0]])
    support = np.array([[True, False], [True, True], [False, False]])
    spread, margin = logit_margin(logits, support)
    assert spread.tolist() == [0.5, 0.0]
    assert margin.tolist() == [1.5, 3.0]
