import numpy as np
import pytest
from exact_oracle import exact_logits
from margin_problems import antipodal, balanced, crowded, facets, generic

from el_jax.linear_ntp import (
    FarkasMatrix,
    FiniteSolution,
    FredholmMatrix,
    SeparatingMatrix,
    check_compatibility,
    check_separability,
    crowded_problem,
    max_margin,
    verify_certificate,
)


def changed(matrix, place, by):
    copy = matrix.copy()
    copy[place] += by
    return copy


def test_separating_matrix_is_measured_exactly():
    problem = generic(2)
    w = max_margin(problem).w
    verification = verify_certificate(problem, SeparatingMatrix(w))
    assert verification.valid
    logits = exact_logits(problem, w)
    spread = max(max(inside) - min(inside) for inside, _ in logits)
    margin = min(min(inside) - max(outside) for inside, outside in logits)
    assert 0 < verification.numbers["margin"] <= margin
    assert verification.numbers["spread"] >= spread
    np.testing.assert_allclose(verification.numbers["margin"], 1, rtol=1e-11)


def test_spoiled_separating_matrices_are_rejected():
    problem = generic(2)
    w = max_margin(problem).w
    for spoiled in (changed(w, (0, 0), 1e-4), -w, 0 * w, np.full_like(w, np.nan)):
        assert not verify_certificate(problem, SeparatingMatrix(spoiled)).valid


@pytest.mark.parametrize("problem", [antipodal(0), balanced(1), crowded(2)])
def test_spoiled_farkas_matrices_are_rejected(problem):
    b = check_separability(problem).certificate.b
    verification = verify_certificate(problem, FarkasMatrix(b))
    assert verification.valid
    assert verification.measured < 1e-12
    outside = tuple(np.argwhere(~problem.support & (b < 0))[0])
    inside = tuple(np.argwhere(problem.support & (b != 0))[0])
    largest = np.abs(b).max()
    swapped = np.where(problem.support, b, 0.0)  # no mass outside: proves nothing
    for spoiled in (
        changed(b, outside, largest + 1e-9),
        changed(b, inside, 1e-6 * largest),
        swapped,
        -b,
        np.full_like(b, np.nan),
    ):
        assert not verify_certificate(problem, FarkasMatrix(spoiled)).valid
    assert not verify_certificate(generic(2), FarkasMatrix(b)).valid


def test_farkas_matrices_need_the_right_signs():
    problem = facets(0)
    vanishing = np.linalg.svd(problem.embeddings)[2][-1]  # H vanishing = 0
    b = np.zeros(problem.support.shape)
    b[0], b[1] = vanishing, -vanishing
    b *= -np.sign(b[~problem.support].sum())
    assert np.abs(b @ problem.embeddings.T).max() < 1e-14
    assert b[~problem.support].sum() < -1e-3
    assert not verify_certificate(problem, FarkasMatrix(b)).valid


def test_any_dual_matrix_bounds_the_margin():
    problem = generic(2)
    found = max_margin(problem)
    rng = np.random.default_rng(0)
    for size in (0, 1e-3, 1):
        b = np.minimum(found.dual + size * rng.standard_normal(found.dual.shape), 0)
        b = np.where(problem.support, found.dual, b)  # column sums are not zero
        numbers = verify_certificate(problem, FarkasMatrix(b)).numbers
        assert numbers["margin_bound"] >= found.margin * (1 - 1e-14)
    exact = verify_certificate(problem, FarkasMatrix(found.dual)).numbers["margin_bound"]
    np.testing.assert_allclose(exact, found.margin, rtol=1e-10)


def test_spoiled_finite_solutions_are_rejected():
    problem = facets(0)
    w = check_compatibility(problem).certificate.w
    assert verify_certificate(problem, FiniteSolution(w)).valid
    largest = float(np.abs(problem.embeddings).max())
    verification = verify_certificate(problem, FiniteSolution(changed(w, (1, 0), 1e-3)))
    assert not verification.valid
    assert 1e-5 < verification.measured <= 1e-3 * largest
    assert not verify_certificate(problem, FiniteSolution(w * np.nan)).valid


def test_spoiled_fredholm_matrices_are_rejected():
    problem = crowded_problem()
    b = check_compatibility(problem).certificate.b
    verification = verify_certificate(problem, FredholmMatrix(b))
    assert verification.valid
    np.testing.assert_array_equal(b[2], 0)
    for spoiled in (changed(b, (2, 0), 1e-9), changed(b, (0, 0), 1e-3), 0 * b, b * np.nan):
        assert not verify_certificate(problem, FredholmMatrix(spoiled)).valid
    assert not verify_certificate(facets(0), FredholmMatrix(np.zeros((8, 20)))).valid
