"""Each family has the properties it is named for, shown by a witness rather than by a solver."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from el_jax.linear_ntp import (
    antipodal_problem,
    crowded_problem,
    data_subspace,
    duplicate_problem,
    entropy_lower_bound,
    facet_problem,
    figure1_problem,
    finite_component,
    one_hot_problem,
    orthonormal_problem,
    random_problem,
    smoothness_bound,
    teacher_problem,
    top_curvature,
)


def incompatibility(problem):
    """Largest difference, over contexts, of the in-support log ratios of W* and of the data."""
    logits = finite_component(problem) @ problem.embeddings
    worst = 0.0
    for j in range(problem.num_contexts):
        inside = np.flatnonzero(problem.support[:, j])
        gaps = logits[inside, j] - np.log(problem.next_token_probs[inside, j])
        worst = max(worst, np.ptp(gaps))
    return worst


def separates(problem, W):
    """True if logits are equal inside every support, and smaller outside."""
    logits = W @ problem.embeddings
    for j, support in enumerate(problem.support.T):
        inside, outside = logits[support, j], logits[~support, j]
        if np.ptp(inside) > 1e-9 or (outside.size and outside.max() >= inside.min()):
            return False
    return True


def test_reference_problem_has_its_published_constants():
    problem = random_problem(50, 60, 10, 6)
    assert entropy_lower_bound(problem) == pytest.approx(1.4112, abs=5e-5)
    assert smoothness_bound(problem) == pytest.approx(1.877, abs=5e-4)
    assert data_subspace(problem).dim == 250
    assert np.linalg.norm(finite_component(problem)) == pytest.approx(3.79657, abs=5e-6)
    assert top_curvature(problem) == pytest.approx(0.8173, abs=5e-5)
    assert top_curvature(random_problem(20, 24, 8, 3, seed=3)) == pytest.approx(1.21354, abs=5e-6)
    assert (problem.support.sum(axis=0) == 6).all()
    assert incompatibility(problem) < 1e-10


def test_one_hot_has_no_entropy_and_no_curvature():
    problem = one_hot_problem(7, 4, 5)
    assert (problem.support.sum(axis=0) == 1).all()
    assert f"{entropy_lower_bound(problem):g}" == f"{top_curvature(problem):g}" == "0"
    assert not finite_component(problem).any()


def test_orthonormal_embeddings_and_their_finite_component():
    problem = orthonormal_problem(5, 7, 6, 3, seed=2)
    gram = problem.embeddings.T @ problem.embeddings
    np.testing.assert_allclose(gram, np.eye(5), atol=1e-14)
    expected = np.zeros((6, 5))
    for j in range(5):
        inside = problem.support[:, j]
        log_probs = np.log(problem.next_token_probs[inside, j])
        expected[inside, j] = log_probs - log_probs.mean()
    np.testing.assert_allclose(
        finite_component(problem), expected @ problem.embeddings.T, atol=1e-13
    )


@settings(max_examples=10)
@given(dim=st.integers(1, 4), seed=st.integers(0, 99))
def test_a_teacher_is_compatible_however_small_d(dim, seed):
    assert incompatibility(teacher_problem(12, dim, 5, 3, seed=seed)) < 1e-7
    if dim < 3:  # with arbitrary probabilities the same supports are not
        assert incompatibility(random_problem(12, dim, 5, 3, seed=seed)) > 1e-3


@settings(max_examples=15)
@given(
    dim=st.integers(2, 4),
    num_classes=st.integers(2, 5),
    seed=st.integers(0, 99),
    spread=st.floats(0, 0.95),
)
def test_facets_are_separable_and_compatible_with_few_dimensions(dim, num_classes, seed, spread):
    problem = facet_problem(20, dim, 7, num_classes, seed=seed, spread=spread)
    # the witness: every token has the vector of its class, which the builder draws first
    drawn = np.random.default_rng(seed).standard_normal((dim, num_classes))
    centres = drawn / np.linalg.norm(drawn, axis=0)
    assert separates(problem, centres.T[np.arange(7) % num_classes])
    assert incompatibility(problem) < 1e-7


def test_figure1_has_the_papers_supports_and_entropy():
    problem = figure1_problem()
    supports = [set(np.flatnonzero(column) + 1) for column in problem.support.T]
    assert supports == [{1, 2, 5}, {1, 4, 5}, {2, 3, 4}]
    assert entropy_lower_bound(problem) == pytest.approx(0.8811, abs=1e-4)
    # its max-margin matrix, with w_1 = w_5 since both follow the same contexts
    r = 3**-0.5
    W = 0.2 * np.array([[-9 * r, 3], [11 * r, 3], [6 * r, -2], [r, -7], [-9 * r, 3]])
    assert separates(problem, W)
    assert np.linalg.norm(W) == pytest.approx(2.7325, abs=5e-5)


def test_opposite_contexts_are_compatible_and_not_separable():
    problem = antipodal_problem()
    assert incompatibility(problem) < 1e-9
    # Farkas: column sums 0, off-support entries <= 0, and B Hᵀ = 0
    B = np.array([[1.0, 0.5], [1.0, 0.5], [-2.0, -1.0]])
    np.testing.assert_allclose(B @ problem.embeddings.T, 0, atol=1e-14)
    assert (problem.support == (B > 0)).all()


def test_twins_with_different_supports_are_compatible_and_not_separable():
    problem = duplicate_problem()
    assert incompatibility(problem) < 1e-9
    B = np.zeros((4, 3))
    B[1:3, :2] = [[1, -1], [-1, 1]]  # token 1 follows only the first twin, token 2 the second
    np.testing.assert_allclose(B @ problem.embeddings.T, 0, atol=1e-14)
    assert (B[~problem.support] <= 0).all()
    assert B[~problem.support].sum() == -2


def test_twins_with_one_support_are_separable_and_not_compatible():
    problem = duplicate_problem(same_support=True)
    assert incompatibility(problem) > 0.1
    first, second = problem.embeddings.T[[0, 2]]
    apart = np.linalg.pinv(np.stack([first, second])) @ [1.0, -1.0]
    assert separates(problem, np.outer([1, 1, -1, -1], apart))


def test_a_crowd_is_separable_and_not_compatible():
    problem = crowded_problem(3)
    assert problem.num_contexts == 5
    assert incompatibility(problem) > 1e-3
    assert separates(problem, np.outer([1, 1, -1], [1, 0, 0]))
    # with as many contexts as dimensions there is a solution
    assert incompatibility(crowded_problem(3, num_contexts=3)) < 1e-9
