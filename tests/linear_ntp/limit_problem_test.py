"""Data that are not separable: the pairs that training separates, and its limit."""

import numpy as np
import pytest
from scipy.optimize import linprog

from el_jax.linear_ntp import (
    NTPProblem,
    antipodal_problem,
    cross_entropy,
    duplicate_problem,
    entropy_lower_bound,
    gradient,
    limit_problem,
    max_margin,
    random_problem,
    run_trajectory,
    teacher_problem,
    verify_certificate,
)

# separable pairs: 9 of 18 and 3 of 5; none; all, of incompatible data; all, of compatible data
PARTLY = random_problem(9, 7, 5, 3, seed=45), random_problem(5, 3, 6, 5, seed=112)
NOTHING = random_problem(9, 4, 6, 5, seed=1)
WHOLLY = random_problem(10, 7, 5, 2, seed=0)
COMPATIBLE = teacher_problem(10, 12, 5, 2, seed=0)


def softmax(logits):
    shifted = np.exp(logits - logits.max(axis=0))
    return shifted / shifted.sum(axis=0)


def separable_by_linear_program(problem):
    """The most pairs that one W with equal logits in supports puts at least 1 below them."""
    H, support = problem.embeddings, problem.support
    first = support.argmax(axis=0)
    difference = np.zeros((*support.shape, problem.vocab_size, problem.dim))
    for v, j in np.ndindex(support.shape):
        difference[v, j, v] += H[:, j]
        difference[v, j, first[j]] -= H[:, j]
    rows = difference.reshape(*support.shape, -1)
    inside, outside = rows[support], rows[~support]
    n, unknowns = len(outside), rows.shape[-1]
    found = linprog(
        np.concatenate([np.zeros(unknowns), -np.ones(n)]),
        A_ub=np.hstack([outside, np.eye(n)]),
        b_ub=np.zeros(n),
        A_eq=np.hstack([inside, np.zeros((len(inside), n))]),
        b_eq=np.zeros(len(inside)),
        bounds=[(None, None)] * unknowns + [(0, 1)] * n,
    )
    pairs = np.zeros(support.shape, bool)
    pairs[~support] = found.x[unknowns:] > 0.5
    return pairs


def test_two_contexts_with_one_embedding_become_their_mixture():
    H = np.array([[1.0, 1.0], [2.0, 2.0]])
    problem = NTPProblem(H, [0.75, 0.25], np.eye(3)[:, :2])  # token 2 follows neither
    limit = limit_problem(problem)
    np.testing.assert_array_equal(limit.separable, [[False] * 2, [False] * 2, [True] * 2])
    np.testing.assert_allclose(limit.probs, [[0.75] * 2, [0.25] * 2, [0, 0]], atol=1e-12)
    np.testing.assert_allclose(limit.infimum, -0.75 * np.log(0.75) - 0.25 * np.log(0.25))


@pytest.mark.parametrize("seed", range(6))
def test_the_pairs_are_those_of_a_linear_program(seed):
    problem = random_problem(7, 2 + seed % 4, 4, 1 + seed % 2, seed=seed)
    np.testing.assert_array_equal(
        limit_problem(problem).separable, separable_by_linear_program(problem)
    )


@pytest.mark.parametrize("problem", [*PARTLY, WHOLLY, COMPATIBLE], ids="abcd")
def test_gradients_are_those_of_the_data_everywhere(problem):
    limit = limit_problem(problem)
    assert limit.stationarity < 1e-12
    for seed in range(3):
        w = np.random.default_rng(seed).normal(size=(problem.vocab_size, problem.dim))
        np.testing.assert_allclose(gradient(limit.problem, w), gradient(problem, w), atol=1e-12)
        above = cross_entropy(problem, w) - limit.infimum
        entropy = entropy_lower_bound(limit.problem)
        np.testing.assert_allclose(above, cross_entropy(limit.problem, w) - entropy, atol=1e-12)


def test_every_stage_has_its_proof():
    problem = PARTLY[1]
    limit = limit_problem(problem)
    assert [stage.holds for stage in limit.stages] == [False, True]
    assert verify_certificate(limit.problem, limit.stages[-1].certificate).valid
    assert verify_certificate(problem, limit.stages[0].certificate).valid
    assert 0 < limit.separable.sum() < (~problem.support).sum()


def test_of_separable_compatible_data_nothing_changes():
    limit = limit_problem(COMPATIBLE)
    np.testing.assert_allclose(limit.probs, COMPATIBLE.next_token_probs, atol=1e-12)
    np.testing.assert_allclose(limit.infimum, entropy_lower_bound(COMPATIBLE), atol=1e-12)


def test_an_infimum_of_0_has_no_sign():
    assert str(limit_problem(random_problem(3, 4, 3, 1)).infimum) == "0.0"


def test_where_nothing_is_separable_the_loss_has_a_minimiser():
    limit = limit_problem(NOTHING)
    assert limit.problem is None
    assert not limit.separable.any()
    assert np.linalg.norm(gradient(NOTHING, limit.finite)) < 1e-12
    np.testing.assert_allclose(cross_entropy(NOTHING, limit.finite), limit.infimum)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("problem", [antipodal_problem(2), duplicate_problem(2, same_support=True)])
def test_a_slope_at_rounding_is_not_followed(problem):
    assert limit_problem(problem).stationarity < 1e-16


def test_gradient_descent_turns_to_the_max_margin_of_the_limit():
    problem = PARTLY[1]
    limit = limit_problem(problem)
    w_mm = max_margin(limit.problem).w
    ran = run_trajectory(problem, "gd", 0.3, 100_000, num_marks=2)
    across = run_trajectory(
        limit.problem, "gd", 0.3, 100_000, num_marks=2, w_mm={"frobenius": w_mm}
    )
    np.testing.assert_allclose(ran.final, across.final, atol=1e-8)
    assert across.metrics["cosine_across_frobenius"][-1] > 0.99
    np.testing.assert_allclose(softmax(ran.final @ problem.embeddings), limit.probs, atol=1e-3)
    assert 0 < cross_entropy(problem, ran.final) - limit.infimum < 1e-3


def test_a_limit_that_was_not_reached_says_so():
    problem = random_problem(7, 5, 4, 2, seed=3)
    lengths = 10.0 ** np.random.default_rng([3, 7]).uniform(-7, 7, 7)
    far_apart = NTPProblem(
        problem.embeddings * lengths, problem.context_probs, problem.next_token_probs
    )
    with pytest.warns(RuntimeWarning, match="the limit may be wrong: a slope of .* lengths from"):
        limit_problem(far_apart)
