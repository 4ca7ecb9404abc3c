"""Pooled moments compared with NumPy on all the values at once."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings, strategies as st

from el_jax.training.moments import Moments, moments_by_group, pool, pool_tree, single

SHAPE, NUM_GROUPS = (4, 5), 3
by_group = jax.jit(partial(moments_by_group, num_groups=NUM_GROUPS))
few = settings(max_examples=25)
tables = st.tuples(
    *(
        st.lists(entries, min_size=20, max_size=20).map(lambda row: np.reshape(row, SHAPE))
        for entries in (st.floats(-1e3, 1e3, width=32), st.integers(0, 2), st.booleans())
    )
)


def by_numpy(numbers):
    """Number, mean and summed squared deviation in float64."""
    numbers = np.asarray(numbers, np.float64)
    mean = numbers.mean() if numbers.size else 0.0
    return numbers.size, mean, np.square(numbers - mean).sum()


def assert_moments(moments, values, groups, mask):
    for group in range(NUM_GROUPS):
        num, mean, m2 = by_numpy(values[(groups == group) & mask])
        assert moments.num[group] == num
        np.testing.assert_allclose(moments.mean[group], mean, rtol=1e-5, atol=1e-2)
        np.testing.assert_allclose(moments.m2[group], m2, rtol=1e-4, atol=1e-1)


@given(tables)
@few
def test_each_group_has_the_moments_of_its_unmasked_values(table):
    values, groups, mask = table
    assert_moments(by_group(values.astype(np.float32), groups, mask), values, groups, mask)


@given(tables)
@few
def test_pooled_moments_are_those_of_all_values(table):
    values, groups, mask = table
    rows = zip(values.astype(np.float32)[:, None], groups[:, None], mask[:, None], strict=True)
    parts = [by_group(*row) for row in rows]
    together = pool(Moments(*(np.stack(leaves) for leaves in zip(*parts, strict=True))))
    assert_moments(together, values, groups, mask)


def test_a_large_mean_does_not_cancel_the_spread():
    # squares of these need 27 bits: a sum of squares in float32 would lose the spread
    values = np.float32(10_000) + np.arange(8, dtype=np.float32)
    nothing = (np.zeros((2, 4), np.int32), np.ones((2, 4), bool))
    assert by_group(values.reshape(2, 4), *nothing).m2[0] == by_numpy(values)[2] == 42
    halves = Moments(jnp.full(2, 4.0), jnp.array([10_001.5, 10_005.5]), jnp.full(2, 5.0))
    assert pool(halves) == (8, 10_003.5, 42)


def test_masked_and_foreign_values_that_are_not_finite_do_no_harm():
    values = np.array([[1.0, np.nan, 3.0, np.inf]], np.float32)
    mask = np.array([[True, False, True, True]])
    found = by_group(values, np.array([[0, 0, 0, 1]]), mask)
    assert found.num.tolist() == [2, 1, 0]
    assert (found.mean[0], found.m2[0]) == (2, 2)
    assert found.mean[1] == np.inf


def test_an_empty_group_counts_nothing_and_adds_nothing():
    empty = by_group(np.ones((1, 2), np.float32), np.ones((1, 2), int), np.zeros((1, 2), bool))
    assert all(leaf.tolist() == [0, 0, 0] for leaf in empty)
    assert pool(Moments(*map(jnp.array, ([0.0, 2.0], [0.0, 2.5], [0.0, 4.5])))) == (2, 2.5, 4.5)


def test_pool_keeps_the_other_axes():
    moments = single(jnp.arange(6.0).reshape(2, 3))
    assert pool(moments).mean.tolist() == [1.5, 2.5, 3.5]
    assert pool(moments, axis=1).mean.tolist() == [1, 4]
    assert pool_tree({"x": moments}, axis=1)["x"].m2.tolist() == [2, 2]
