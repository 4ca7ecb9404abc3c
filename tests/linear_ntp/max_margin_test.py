import functools

import numpy as np
import pytest
from clarabel_peer import clarabel_max_margin
from hypothesis import given, settings, strategies as st
from margin_problems import SEPARABLE, facets, generic

from el_jax.linear_ntp import (
    NotSeparableError,
    NTPProblem,
    antipodal_problem,
    figure1_problem,
    finite_component,
    margin_upper_bound,
    max_margin,
    orthonormal_problem,
    random_problem,
    verify_certificate,
)
from el_jax.linear_ntp.solvers.scaling import scaled
from el_jax.linear_ntp.solvers.splitting import split_bracket
from el_jax.linear_ntp.theory.norms import dual_norm, matrix_norm

NORMS = ("frobenius", "max", "spectral", "nuclear")


def small(seed=1):
    return random_problem(7, 8, 5, 2, seed=seed)


def constraint_violation(problem, w):
    """The largest violation of the constraints at unit margin, one pair of tokens at a time."""
    worst = 0.0
    for j in range(problem.num_contexts):
        logits, inside = w @ problem.embeddings[:, j], problem.support[:, j]
        for z in np.flatnonzero(inside):
            worst = max(worst, *(abs(logits[z] - logits[y]) for y in np.flatnonzero(inside)))
            worst = max([worst, *(1 - (logits[z] - logits[v]) for v in np.flatnonzero(~inside))])
    return worst


@pytest.mark.parametrize("support_size", [1, 3, 5])
def test_closed_form_at_orthonormal_embeddings(support_size):
    problem = orthonormal_problem(9, 11, 6, support_size, seed=2)
    found = max_margin(problem)
    expected = (problem.support - problem.support.mean(axis=0)) @ problem.embeddings.T
    np.testing.assert_allclose(found.w, expected, atol=1e-12)
    sizes = problem.support.sum(axis=0)
    np.testing.assert_allclose(1 / found.margin**2, np.sum(sizes * (6 - sizes) / 6), rtol=1e-12)
    outside = ~problem.support
    multipliers = np.broadcast_to(sizes / 6, outside.shape)
    np.testing.assert_allclose(-found.dual[outside], multipliers[outside], rtol=1e-12)
    assert len(found.active) == outside.sum()


@pytest.mark.parametrize("num_classes", [3, 7])
def test_closed_form_where_every_class_has_a_context(num_classes):
    eye = np.eye(num_classes)
    problem = NTPProblem(eye, np.full(num_classes, 1 / num_classes), eye)
    # W = I - 11ᵀ/V for all norms, with V - 1 singular values of 1
    sizes = {"frobenius": (num_classes - 1) ** 0.5, "spectral": 1, "nuclear": num_classes - 1}
    for norm, size in sizes.items():
        np.testing.assert_allclose(max_margin(problem, norm).margin, 1 / size, rtol=1e-9)


def test_reference_values():
    found = max_margin(random_problem(20, 24, 8, 3, seed=3))
    np.testing.assert_allclose(np.linalg.norm(found.w), 2.99076161, atol=5e-9)
    assert len(found.active) == 62
    appendix_a2 = max_margin(random_problem(50, 60, 10, 6, seed=0))
    np.testing.assert_allclose(np.linalg.norm(appendix_a2.w), 3.000102, atol=5e-7)
    figure1 = max_margin(figure1_problem())
    rows = [[-1.039, 0.6], [1.27, 0.6], [0.693, -0.4], [0.115, -1.4], [-1.039, 0.6]]  # rounded
    np.testing.assert_allclose(np.linalg.norm(figure1.w), 2.7325, atol=5e-5)
    np.testing.assert_allclose(figure1.w, rows, atol=1e-3)


@pytest.mark.parametrize("norm", NORMS)
def test_agrees_with_clarabel(norm):
    problem = small()
    found = max_margin(problem, norm)
    expected = clarabel_max_margin(problem, norm)
    np.testing.assert_allclose(1 / found.margin, matrix_norm(expected, norm), rtol=1e-6)
    if norm == "frobenius":  # the others' solutions need not be unique
        np.testing.assert_allclose(found.w, expected, atol=1e-5)


@pytest.mark.parametrize("norm", NORMS)
def test_solution_satisfies_definition_and_its_dual(norm):
    problem = small(3)
    found = max_margin(problem, norm)
    assert constraint_violation(problem, found.w) <= 1e-12
    assert found.gap <= 1e-9
    assert max(found.kkt) <= 1e-8
    np.testing.assert_allclose(found.dual.sum(axis=0), 0, atol=1e-12)
    assert found.dual[~problem.support].max() <= 0
    size = matrix_norm(found.w, norm)
    np.testing.assert_allclose(-found.dual[~problem.support].sum(), size**2, rtol=1e-12)
    combination = found.dual @ problem.embeddings.T
    np.testing.assert_allclose(dual_norm(combination, norm), size, rtol=1e-8)
    np.testing.assert_allclose(np.sum(found.w * combination), size**2, rtol=1e-8)
    lower, upper = found.interval
    assert lower <= upper * (1 + 1e-12)
    np.testing.assert_allclose(found.margin, 1 / size, rtol=1e-14)
    logits = found.w @ problem.embeddings
    binding = {
        (j, v)
        for j in range(problem.num_contexts)
        for v in np.flatnonzero(~problem.support[:, j])
        if logits[problem.support[:, j], j].max() - logits[v, j] <= 1 + 1e-6
    }
    assert {tuple(pair) for pair in found.active.tolist()} == binding


@pytest.mark.parametrize("norm", ["max", "spectral", "nuclear"])
def test_splitting_closes_the_gap(norm):
    problem = small(2)
    alike = scaled(problem)
    found = split_bracket(alike, norm, tolerance=1e-9, max_iterations=20_000)
    assert found.lower > 0
    assert found.gap <= 1e-9
    if norm != "spectral":  # that one is not compared, as its cone program needs many digits
        margin = found.lower / alike.unit
        np.testing.assert_allclose(margin, max_margin(problem, norm).margin, rtol=1e-8)


@pytest.mark.parametrize("family", SEPARABLE)
def test_every_family_is_solved_to_rounding(family):
    for seed in range(40):  # 200 problems in all
        problem = family(seed)
        found = max_margin(problem)
        assert found.gap <= 1e-9
        assert max(found.kkt) <= 1e-9
        assert constraint_violation(problem, found.w) <= 1e-9
        np.testing.assert_allclose(found.w.sum(axis=0), 0, atol=1e-9 / found.margin)


def test_ascent_goes_on_from_a_face_that_helps():
    found = max_margin(random_problem(200, 64, 150, 4, seed=0))
    assert found.gap < 1e-13
    assert found.iterations < 400  # 475 if every face but the last were thrown away


def test_depends_on_supports_only():
    problem, rng = generic(2), np.random.default_rng(0)
    probs = problem.support * rng.uniform(0.1, 1, problem.support.shape)
    other = NTPProblem(problem.embeddings, rng.dirichlet(np.ones(20)), probs / probs.sum(axis=0))
    np.testing.assert_array_equal(max_margin(other).w, max_margin(problem).w)


def test_tokens_of_the_same_contexts_have_the_same_row():
    problem = facets(0)
    found = max_margin(problem)
    np.testing.assert_array_equal(problem.support[0], problem.support[4])
    np.testing.assert_allclose(found.w[0], found.w[4], atol=1e-12)
    assert np.linalg.norm(finite_component(problem)[0] - finite_component(problem)[4]) > 0.1


@pytest.mark.parametrize("problem", [generic(4), facets(1)])
def test_finite_component_is_orthogonal(problem):
    finite, svm = finite_component(problem), max_margin(problem).w
    scale = np.linalg.norm(finite) * np.linalg.norm(svm)
    assert scale > 0
    assert abs(np.sum(finite * svm)) <= 1e-12 * scale


def test_two_classes_are_a_binary_support_vector_machine():
    # rows ±w/2; w is the shortest vector with y_j w·h_j >= 1; on a line the closest points decide
    embeddings = np.array([[2.0, 5.0, -3.0, -4.0], [0.0, 0.0, 0.0, 0.0]])
    probs = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    found = max_margin(NTPProblem(embeddings, np.full(4, 0.25), probs))
    np.testing.assert_allclose(found.w, [[0.25, 0], [-0.25, 0]], atol=1e-14)
    np.testing.assert_array_equal(found.active, [[0, 1]])


@settings(max_examples=40)
@given(scale=st.floats(1e-3, 1e2), towards=st.floats(0, 30), seed=st.integers(0, 2**31))
def test_gradient_over_leak_bounds_the_margin(scale, towards, seed):
    problem = small()
    for norm in NORMS:
        svm = solved(norm)
        w = scale * np.random.default_rng(seed).standard_normal(svm.w.shape) + towards * svm.w
        assert margin_upper_bound(problem, w, norm) >= svm.margin * (1 - 1e-9)


def test_bound_holds_where_squares_of_the_gradient_underflow():
    problem = NTPProblem(np.eye(2), [0.5, 0.5], np.eye(2))
    for scale in (100, 300):  # leaks of e^-200 and e^-600
        w = scale * (2 * np.eye(2) - 1)
        np.testing.assert_allclose(margin_upper_bound(problem, w), max_margin(problem).margin)


@functools.cache
def solved(norm):
    return max_margin(small(), norm)


@pytest.mark.parametrize(
    ("norm", "margin"), [(norm, 14 if norm == "max" else 50**0.5) for norm in NORMS]
)
def test_bound_is_the_margin_where_one_constraint_decides(norm, margin):
    problem = NTPProblem(np.array([[3.0], [4.0]]), np.ones(1), np.array([[1.0], [0.0]]))
    np.testing.assert_allclose(max_margin(problem, norm).margin, margin, rtol=1e-9)
    for w in (np.zeros((2, 2)), np.array([[1.0, 2.0], [-3.0, 0.5]])):
        np.testing.assert_allclose(margin_upper_bound(problem, w, norm), margin, rtol=1e-14)
    assert margin_upper_bound(problem, np.array([[1e4, 0.0], [0.0, 0.0]]), norm) == np.inf


@pytest.mark.parametrize("norm", NORMS)
def test_data_without_margin_raise_with_a_certificate(norm):
    problem = antipodal_problem()
    with pytest.raises(NotSeparableError, match="not separable") as raised:
        max_margin(problem, norm)
    assert verify_certificate(problem, raised.value.certificate).valid
