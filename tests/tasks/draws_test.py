"""Distinct numbers are drawn in every order with the same probability."""

import itertools
from collections import Counter

import jax
import numpy as np
import pytest

from el_jax.tasks.draws import draw_distinct


def drawn(num, size, times):
    keys = jax.random.split(jax.random.key(0), times)
    return np.asarray(jax.vmap(lambda key: draw_distinct(key, num, size))(keys))


@pytest.mark.parametrize(("num", "size"), [(2, 4), (3, 3), (1, 5)])
def test_every_ordered_choice_comes_equally_often(num, size):
    counts = Counter(map(tuple, drawn(num, size, 24_000)))
    choices = [*itertools.permutations(range(size), num)]
    assert {*counts} == {*choices}
    expected = 24_000 / len(choices)
    # chi square is at most its mean plus 5 standard deviations
    square = sum((counts[choice] - expected) ** 2 / expected for choice in choices)
    freedom = len(choices) - 1
    assert square < freedom + 5 * (2 * freedom) ** 0.5


def test_all_numbers_are_a_permutation():
    rows = drawn(50, 50, 20)
    np.testing.assert_array_equal(np.sort(rows, axis=1), np.tile(np.arange(50), (20, 1)))
    assert len({row.tobytes() for row in rows}) == 20
