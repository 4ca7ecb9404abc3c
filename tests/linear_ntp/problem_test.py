import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.linear_ntp import (
    NTPProblem,
    check_compatibility,
    check_separability,
    coinciding_contexts,
    cross_entropy,
    entropy_lower_bound,
    merge_contexts,
    random_problem,
)

H = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
PI = np.array([0.5, 0.25, 0.25])
P = np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 0.25], [0.0, 0.0, 0.75]])


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def test_what_is_derived():
    problem = NTPProblem(H, PI, P)
    assert (problem.dim, problem.num_contexts, problem.vocab_size) == (2, 3, 3)
    np.testing.assert_array_equal(problem.support, P > 0)
    np.testing.assert_array_equal(problem.log_probs[P > 0], np.log(P[P > 0]))
    assert not problem.log_probs[P == 0].any()


def test_float32_is_taken_and_its_rounding_removed():
    thirds = np.full((3, 3), 1 / 3, np.float32)
    thirds[2] = 0
    thirds[:2] *= 1.5
    problem = NTPProblem(
        jnp.asarray(H), PI.astype(np.float32).tolist(), thirds * np.float32(1 + 3e-7)
    )
    for field in dataclasses.fields(problem):
        assert getattr(problem, field.name).dtype == np.float64
    np.testing.assert_array_equal(problem.next_token_probs.sum(axis=0), 1)


def test_arrays_are_copies_that_cannot_be_written_to():
    given = P.copy()
    problem = NTPProblem(H, PI, given)
    given[0, 0] = 7
    assert problem.next_token_probs[0, 0] == 1
    for array in (problem.embeddings, problem.context_probs, problem.log_probs, problem.support):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((H, PI, changed(P, (2, 2), 0.45)), r"next_token_probs\[:, 2\] sums to 0.7: must sum to 1"),
        ((H, changed(PI, 0, 0.6), P), r"context_probs sums to 1.1: must sum to 1"),
        ((H, np.array([0.5, 0, 0.5]), P), r"context_probs\[1\] is 0: must be positive"),
        ((H, PI, changed(P, (0, 2), -0.1)), r"next_token_probs\[0, 2\] is -0.1: must not be neg"),
        ((changed(H, (1, 0), np.nan), PI, P), r"embeddings\[1, 0\] is not finite"),
        ((H, PI, changed(P, (0, 0), np.inf)), r"next_token_probs\[0, 0\] is not finite"),
        ((H[:, :2], PI, P), r"context_probs has shape \(3,\): .* 2 contexts"),
        ((H, PI, P[:, :2]), r"next_token_probs has shape \(3, 2\): .* 3 contexts"),
        ((H[0], PI, P), r"embeddings has shape \(3,\): must have 2 axes"),
        ((H[:0], PI, P), r"embeddings has shape \(0, 3\): must not be empty"),
        ((H, PI, np.full((3, 3), 1 / 3)), "next_token_probs is positive everywhere"),
    ],
)
def test_what_is_no_problem_is_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        NTPProblem(*arrays)


def test_coinciding_contexts_are_numbered_by_first_appearance():
    embeddings = np.array([[0.0, 5.0, 1e-12, 3.0, 5.0]])
    np.testing.assert_array_equal(coinciding_contexts(embeddings), [0, 1, 0, 2, 1])
    np.testing.assert_array_equal(coinciding_contexts(embeddings, tolerance=0.0), [0, 1, 2, 3, 1])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_verdicts_name_the_same_contexts_at_any_scale(scale):
    base = random_problem(9, 3, 5, 3, seed=1)
    scaled = NTPProblem(scale * base.embeddings, base.context_probs, base.next_token_probs)
    assert merge_contexts(scaled) is scaled
    for check in (check_separability, check_compatibility):
        assert check(base).holds is check(scaled).holds is False
        assert check(base).reason == check(scaled).reason


def test_merging_adds_counts():
    twins = NTPProblem(H[:, [0, 1, 0]], PI, P)
    merged = merge_contexts(twins)
    np.testing.assert_array_equal(merged.embeddings, H[:, :2])
    np.testing.assert_allclose(merged.context_probs, [0.75, 0.25])
    # counts 2 : 1 of the first and the third context
    np.testing.assert_allclose(merged.next_token_probs[:, 0], [2 / 3, 1 / 12, 3 / 12])
    W = np.arange(6.0).reshape(3, 2)
    assert cross_entropy(merged, W) == pytest.approx(cross_entropy(twins, W), rel=1e-14)
    assert entropy_lower_bound(merged) > entropy_lower_bound(twins)


def test_distinct_contexts_are_left_alone():
    problem = random_problem(4, 3, 5, 2)
    assert merge_contexts(problem) is problem
