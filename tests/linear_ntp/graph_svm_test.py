"""One attention layer: its orders, its loss, and the two limits of training."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from el_jax.linear_ntp.attention import (
    AttentionProblem,
    attention_loss,
    compared,
    cyclic_subspace,
    finite_part,
    graph_svm,
    orders,
)
from el_jax.linear_ntp.theory.norms import matrix_norm
from el_jax.process.double_precision import float64


def random_problem(seed: int, *, dim: int = 7, num_contexts: int = 10) -> AttentionProblem:
    rng = np.random.default_rng(seed)
    contexts = rng.integers(0, 6, (num_contexts, 4))
    contexts[:, -1] = rng.integers(0, 2, num_contexts)
    chosen = contexts[np.arange(num_contexts), rng.integers(0, 4, num_contexts)]
    return AttentionProblem(rng.standard_normal((6, dim)) / 2, contexts, chosen)


def cycle_problem(first: int, second: int) -> AttentionProblem:
    """Tokens 1 and 2 follow 0 ``first`` and ``second`` times; both come before 0, for query 0."""
    contexts = np.array([[1, 2, 0]] * (first + second))
    return AttentionProblem(np.eye(3), contexts, np.repeat([1, 2], [first, second]))


def test_orders_are_paths_and_cycles_of_the_graph() -> None:
    # for query 0: 1 before 2, 2 before 3, 3 and 4 before each other; query 5 orders 3 alone
    contexts = np.array([[1, 2, 0], [2, 3, 0], [3, 4, 0], [4, 3, 0], [3, 3, 5]])
    found = orders(AttentionProblem(np.eye(6), contexts, np.array([1, 2, 3, 4, 3])))
    assert found.before[0, 1, 4]  # by a path of three edges
    assert not found.before[0, 4, 1]
    assert found.components[0, 3] == found.components[0, 4] != found.components[0, 2]
    assert [tuple(row) for row in found.equal.tolist()] == [(0, 3, 4), (0, 4, 3)]
    assert (5, 3, 5) in [tuple(row) for row in found.strict.tolist()]
    assert not found.before[5, 1].any()


def test_loss_is_minus_log_of_the_attention_to_the_next_token() -> None:
    problem = random_problem(0)
    w = np.random.default_rng(1).standard_normal((7, 7))
    e = problem.embeddings
    losses = []
    for context, token in zip(problem.contexts, problem.next_tokens, strict=True):
        attention = np.exp(e[context] @ w @ e[context[-1]])
        losses.append(-np.log(attention[context == token].sum() / attention.sum()))
    with float64():
        every = np.ones(problem.contexts.shape, bool)
        found = float(attention_loss(jnp.asarray(w), problem, every))
    assert found == pytest.approx(np.mean(losses), rel=1e-12)


@pytest.mark.parametrize("norm", ["frobenius", "max"])
def test_graph_svm_orders_the_tokens(norm: Literal["frobenius", "max"]) -> None:
    problem = random_problem(2)
    found, w = orders(problem), graph_svm(problem, norm).ravel()
    assert (compared(problem, found.strict) @ w).min() == pytest.approx(1.0, abs=1e-8)
    assert len(found.equal)
    assert np.abs(compared(problem, found.equal) @ w).max() < 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_another_solver_finds_the_same_graph_svm(seed: int) -> None:
    problem = random_problem(seed)
    w, strict = graph_svm(problem).ravel(), compared(problem, orders(problem).strict)
    constraints = [{"type": "ineq", "fun": lambda x: strict @ x - 1, "jac": lambda _: strict}]
    if (basis := cyclic_subspace(problem).T).size:
        constraints.append({"type": "eq", "fun": lambda x: basis @ x, "jac": lambda _: basis})
    start = 3 * w + np.random.default_rng(seed).standard_normal(w.size)
    found = minimize(lambda x: x @ x / 2, start, jac=lambda x: x, constraints=constraints)
    assert np.linalg.norm(found.x - w) < 1e-4 * np.linalg.norm(w)


@pytest.mark.parametrize("norm", ["frobenius", "max"])
def test_graph_svm_without_an_order_is_zero(norm: Literal["frobenius", "max"]) -> None:
    both = AttentionProblem(np.eye(2), np.array([[1, 0], [1, 0]]), np.array([1, 0]))
    assert not graph_svm(both, norm).any()


def test_graph_svm_of_the_max_norm_is_below_the_other_in_it() -> None:
    problem = random_problem(1)
    frobenius, largest = graph_svm(problem), graph_svm(problem, "max")
    assert matrix_norm(largest, "max") < 0.95 * matrix_norm(frobenius, "max")
    assert matrix_norm(frobenius, "frobenius") < 0.95 * matrix_norm(largest, "frobenius")


@pytest.mark.parametrize("norm", ["frobenius", "max"])
def test_tokens_that_cannot_be_ordered_are_named(norm: Literal["frobenius", "max"]) -> None:
    # in one dimension e_1 - e_0 and e_2 - e_0 have opposite signs
    contexts, following = np.array([[1, 0], [2, 0]]), np.array([1, 2])
    problem = AttentionProblem(np.array([[1.0], [2.0], [-1.0]]), contexts, following)
    with pytest.raises(ValueError, match="embeddings are linearly dependent"):
        graph_svm(problem, norm)


def test_finite_part_has_the_odds_of_the_data() -> None:
    w = finite_part(cycle_problem(3, 5))
    assert w[1, 0] - w[2, 0] == pytest.approx(np.log(3 / 5), abs=1e-9)


def test_finite_part_of_a_problem_without_cycles_is_zero() -> None:
    assert not finite_part(cycle_problem(2, 0)).any()


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_limits_scale_with_the_embeddings(size: float) -> None:
    problem = random_problem(4)
    scaled = dataclasses.replace(problem, embeddings=size * problem.embeddings)
    expected = graph_svm(problem)
    np.testing.assert_allclose(size**2 * graph_svm(scaled), expected, atol=1e-9)
    least = matrix_norm(graph_svm(problem, "max"), "max")  # its matrix need not be unique
    assert size**2 * matrix_norm(graph_svm(scaled, "max"), "max") == pytest.approx(least)
    expected = finite_part(problem)
    np.testing.assert_allclose(size**2 * finite_part(scaled), expected, atol=1e-9)


def test_descent_tends_to_both_limits() -> None:
    problem = random_problem(4)
    svm, finite, basis = graph_svm(problem), finite_part(problem), cyclic_subspace(problem)
    assert basis.size
    with float64():
        every = np.ones(problem.contexts.shape, bool)
        slope = jax.grad(lambda w: attention_loss(w, problem, every))
        step = jax.jit(lambda w: jax.lax.fori_loop(0, 20_000, lambda _, w: w - slope(w), w))
        w = np.asarray(step(jnp.zeros((7, 7)))).ravel()
    within = basis @ (basis.T @ w)
    across = w - within
    cosine = across @ svm.ravel() / np.linalg.norm(across) / np.linalg.norm(svm)
    assert cosine > 0.97
    assert np.linalg.norm(within - finite.ravel()) < 0.02


def test_a_next_token_outside_its_context_is_named() -> None:
    with pytest.raises(ValueError, match=r"next_tokens\[1\]=0: must be in its context"):
        AttentionProblem(np.eye(3), np.array([[1, 2], [1, 2]]), np.array([1, 0]))
    with pytest.raises(ValueError, match="contexts: tokens must be from 0 to 2"):
        AttentionProblem(np.eye(3), np.array([[1, 3]]), np.array([1]))
