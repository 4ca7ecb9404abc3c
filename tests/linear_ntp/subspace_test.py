import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from el_jax.linear_ntp import (
    NTPProblem,
    crowded_problem,
    data_subspace,
    finite_component,
    one_hot_problem,
    random_problem,
    teacher_problem,
    top_curvature,
)


def generators(problem):
    """(e_z - e_z') h_jᵀ for every pair of tokens in every support, ravelled."""
    rows = []
    for h, support in zip(problem.embeddings.T, problem.support.T, strict=True):
        tokens = np.flatnonzero(support)
        for z in tokens:
            for other in tokens[tokens > z]:
                contrast = np.zeros(problem.vocab_size)
                contrast[[z, other]] = 1, -1
                rows.append(np.outer(contrast, h).ravel())
    return np.array(rows)


@settings(max_examples=12)
@given(m=st.integers(1, 6), dim=st.integers(1, 5), size=st.integers(2, 4), seed=st.integers(0, 999))
def test_projection_is_that_onto_the_span_of_the_generators(m, dim, size, seed):
    problem = random_problem(m, dim, 5, size, seed=seed)
    spanning = generators(problem)
    W = np.random.default_rng(seed).standard_normal((5, dim))
    expected = (np.linalg.pinv(spanning, rcond=1e-10) @ spanning @ W.ravel()).reshape(W.shape)
    subspace = data_subspace(problem)
    assert subspace.dim == np.linalg.matrix_rank(spanning, tol=1e-10)
    np.testing.assert_allclose(subspace.project(W), expected, atol=1e-9)
    assert abs(spanning @ (W - subspace.project(W)).ravel()).max() < 1e-9


@pytest.mark.parametrize("shape", [(6, 8, 5, 3), (9, 3, 5, 3)], ids=["compatible", "not"])
def test_iterations_agree_with_the_factorisation(shape):
    problem = random_problem(*shape, seed=4)
    W = np.random.default_rng(0).standard_normal((5, shape[1]))
    iterated = data_subspace(problem, dense=False)
    np.testing.assert_allclose(
        iterated.project(W), data_subspace(problem, dense=True).project(W), atol=1e-9
    )
    np.testing.assert_allclose(
        finite_component(problem, dense=False), finite_component(problem, dense=True), atol=1e-9
    )
    assert iterated.dim is None


def test_finite_component_lies_in_the_subspace_and_meets_the_ratios():
    problem = teacher_problem(8, 3, 5, 3, seed=1)
    W = finite_component(problem)
    np.testing.assert_allclose(data_subspace(problem).project(W), W, atol=1e-12)
    log_probs = np.log(np.where(problem.support, problem.next_token_probs, 1))
    np.testing.assert_allclose(
        generators(problem) @ W.ravel(),
        [
            log_probs[z, j] - log_probs[other, j]
            for j, support in enumerate(problem.support.T)
            for z in np.flatnonzero(support)
            for other in np.flatnonzero(support)
            if other > z
        ],
        atol=1e-12,
    )


@pytest.mark.parametrize("dense", [True, False])
def test_finite_component_of_incompatible_data_is_the_least_squares_one(dense):
    problem = crowded_problem(2, num_contexts=6)
    # two tokens give one contrast a context, so this is plain regression of the log odds on h
    odds = np.log(problem.next_token_probs[0] / problem.next_token_probs[1])
    slope = np.linalg.lstsq(problem.embeddings.T, odds, rcond=None)[0] / 2
    expected = np.stack([slope, -slope, np.zeros(2)])
    np.testing.assert_allclose(finite_component(problem, dense=dense), expected, atol=1e-10)


def test_one_hot_data_have_no_subspace():
    problem = one_hot_problem(4, 3, 5)
    subspace = data_subspace(problem)
    assert subspace.dim == 0
    assert not subspace.project(np.ones((5, 3))).any()


def test_top_curvature_is_that_of_the_dense_hessian():
    problem = random_problem(6, 4, 5, 3, seed=5)
    hessian = sum(
        pi * np.kron(np.diag(p) - np.outer(p, p), np.outer(h, h))
        for pi, h, p in zip(
            problem.context_probs, problem.embeddings.T, problem.next_token_probs.T, strict=True
        )
    )
    assert top_curvature(problem) == pytest.approx(np.linalg.eigvalsh(hessian)[-1], rel=1e-10)


@pytest.mark.parametrize("scale", [1e-200, 1e-80, 1e80, 1e200])
@pytest.mark.parametrize("of", ["embeddings", "decoder"])
def test_projections_without_a_basis_keep_within_range(scale, of):
    base = random_problem(8, 6, 7, 3, seed=1)
    H = base.embeddings * (scale if of == "embeddings" else 1)
    W = np.random.default_rng(0).standard_normal((7, 6)) * (scale if of == "decoder" else 1)
    problem = NTPProblem(H, base.context_probs, base.next_token_probs)
    dense, iterated = (data_subspace(problem, dense=d).project(W) for d in (True, False))
    np.testing.assert_allclose(iterated, dense, rtol=0, atol=1e-12 * np.abs(dense).max())
