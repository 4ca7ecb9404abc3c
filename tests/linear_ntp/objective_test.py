import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax.test_util import check_grads

from el_jax.linear_ntp import (
    NTPProblem,
    cross_entropy,
    entropy_lower_bound,
    excess_loss,
    gradient,
    leaked_mass,
    orthonormal_problem,
    random_problem,
    residual,
    smoothness_bound,
)
from el_jax.linear_ntp.theory.objective import arrays, excess_parts, logit_pieces


def with_full_support():
    """A problem in which the support of one context is the whole vocabulary."""
    problem = random_problem(4, 3, 5, 2, seed=1)
    probs = problem.next_token_probs.copy()
    probs[:, 2] = [0.1, 0.2, 0.3, 0.3, 0.1]
    return NTPProblem(problem.embeddings, problem.context_probs, probs)


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def definition(problem, W):
    """Cross entropy, CE inside supports, entropy and leak, one context and token at a time."""
    ce = inside_ce = entropy = leak = 0.0
    for pi, h, p in zip(
        problem.context_probs, problem.embeddings.T, problem.next_token_probs.T, strict=True
    ):
        q, inside = softmax(W @ h), np.flatnonzero(p)
        ce -= pi * sum(p[z] * np.log(q[z]) for z in inside)
        inside_ce -= pi * sum(p[z] * np.log(q[z] / q[inside].sum()) for z in inside)
        entropy -= pi * sum(p[z] * np.log(p[z]) for z in inside)
        leak += pi * sum(q[v] for v in range(len(p)) if p[v] == 0)
    return ce, inside_ce, entropy, leak


def split_loss(problem):
    def loss(W):
        H, context_probs, probs = map(jnp.asarray, arrays(problem))
        return excess_parts(logit_pieces(W @ H, probs), context_probs, probs).total

    return loss


PROBLEMS = pytest.mark.parametrize(
    "problem", [random_problem(6, 4, 5, 3, seed=3), with_full_support()], ids=["random", "full"]
)


@PROBLEMS
@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_loss_and_leak_equal_definition(problem, scale):
    W = scale * np.random.default_rng(0).standard_normal((problem.vocab_size, problem.dim))
    ce, inside_ce, entropy, leak = definition(problem, W)
    excess = excess_loss(problem, W)
    assert entropy_lower_bound(problem) == pytest.approx(entropy, rel=1e-13)
    assert cross_entropy(problem, W) == pytest.approx(ce, rel=1e-13)
    assert excess.leak == pytest.approx(ce - inside_ce, rel=1e-11)
    assert excess.in_support == pytest.approx(inside_ce - entropy, rel=1e-11)
    assert excess.total == excess.leak + excess.in_support
    assert leaked_mass(problem, W) == pytest.approx(leak, rel=1e-12)


@PROBLEMS
def test_gradient_is_that_of_the_loss(problem):
    W = np.random.default_rng(1).standard_normal((problem.vocab_size, problem.dim))
    expected = np.zeros_like(W)
    for pi, h, p in zip(
        problem.context_probs, problem.embeddings.T, problem.next_token_probs.T, strict=True
    ):
        expected += pi * np.outer(softmax(W @ h) - p, h)
    np.testing.assert_allclose(gradient(problem, W), expected, atol=1e-15)
    with jax.enable_x64(True):
        loss = jax.jit(split_loss(problem))
        np.testing.assert_allclose(jax.grad(loss)(jnp.asarray(W)), expected, atol=1e-15)
        check_grads(loss, (jnp.asarray(W),), order=1, modes=["rev"])


def test_inputs_may_be_jax_arrays_in_float32():
    problem = random_problem(4, 3, 5, 2)
    W = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    given = gradient(problem, jnp.asarray(W))
    assert given.dtype == np.float64
    np.testing.assert_array_equal(given, gradient(problem, W.astype(np.float64)))
    assert not jax.config.jax_enable_x64


def test_both_parts_keep_their_digits_where_cross_entropy_has_none():
    """Orthonormal embeddings let us set the logits, so that both parts have a closed form."""
    problem = orthonormal_problem(3, 3, 4, 2, seed=1)
    support, probs = problem.support, problem.next_token_probs
    logits = np.where(support, np.log(np.where(support, probs, 1)), -200.0)
    tilt = 1e-9 * np.where(support, np.cumsum(support, axis=0) - 1.5, 0)  # -δ/2 and δ/2
    W = (logits + tilt) @ problem.embeddings.T
    excess = excess_loss(problem, W)
    assert excess.leak == pytest.approx(2 * np.exp(-200.0), rel=1e-8)
    # KL of a Bernoulli tilted by δ in logits: p (1 - p) δ² / 2
    bernoulli = np.prod(np.where(support, probs, 1), axis=0)
    assert excess.in_support == pytest.approx(bernoulli.mean() * 1e-18 / 2, rel=1e-5)
    assert leaked_mass(problem, W) == pytest.approx(2 * np.exp(-200.0), rel=1e-8)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**31), scale=st.floats(0.01, 100))
def test_residual_is_dual_feasible_and_gradient_monotone(seed, scale):
    problem = random_problem(5, 4, 5, 2, seed=2)
    rng = np.random.default_rng(seed)
    W, other = scale * rng.standard_normal((2, 5, 4))
    R = residual(problem, W)
    np.testing.assert_allclose(R.sum(axis=0), 0, atol=1e-13)
    assert (R[~problem.support] <= 0).all()
    assert -R[~problem.support].sum() == pytest.approx(leaked_mass(problem, W), rel=1e-12)
    slope = gradient(problem, W) - gradient(problem, other)
    assert np.sum(slope * (W - other)) >= 0
    bound = smoothness_bound(problem) * np.linalg.norm(W - other)
    assert np.linalg.norm(slope) <= bound


def test_smoothness_bound_is_reached_by_two_tokens_at_even_odds():
    problem = NTPProblem([[2.0]], [1.0], [[1.0], [0.0]])
    W = np.array([[1e-4], [-1e-4]])
    slope = np.linalg.norm(gradient(problem, W) - gradient(problem, -W)) / np.linalg.norm(2 * W)
    assert slope == pytest.approx(smoothness_bound(problem), rel=1e-6)
    assert smoothness_bound(problem) == pytest.approx(2.0)


def test_a_leak_below_the_smallest_float_is_zero_and_not_nan():
    problem = orthonormal_problem(3, 3, 4, 2)
    W = 1e4 * (problem.support - problem.support.mean(axis=0)) @ problem.embeddings.T
    assert excess_loss(problem, W).leak == 0
    assert np.isfinite(gradient(problem, W)).all()


def test_a_leaked_mass_below_the_normal_numbers_is_not_0():
    problem = NTPProblem(np.eye(2), [0.5, 0.5], np.eye(2))
    found = leaked_mass(problem, 360 * np.eye(2) - 360 * np.eye(2)[::-1])
    assert found == pytest.approx(np.exp(-720.0), rel=1e-6)
