"""Covariance, Fisher matrix and Hessian of a model with formulas; numbers by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.types import ModelFns
from experiments.flat_bartlett import run
from experiments.flat_bartlett.matrices import Compared, compare
from experiments.harness.written_out import Problem, divergence, trained

TRUTH = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
WEIGHTS = np.array([0.25, 0.75])


def problem():
    tokens, places = jnp.zeros((2, 2), jnp.int32), jnp.array([0, 1])
    return Problem(tokens, places, jnp.asarray(WEIGHTS), jnp.asarray(TRUTH))


def unigram():
    """Logits w in every context: F = H = diag(p) - p pᵀ."""

    def apply(params, batch, key=None):
        del key
        return jnp.broadcast_to(params, (*batch.supervised.shape, 3))

    return ModelFns(lambda key: jnp.zeros(3), apply)


def test_the_matrices_of_a_unigram_model():
    w = jnp.array([0.3, -0.2, 0.5])
    found = compare(unigram(), w, problem())
    p, q = np.asarray(jax.nn.softmax(w)), WEIGHTS @ TRUTH
    hessian = np.diag(p) - np.outer(p, p)
    scores = np.eye(3) - p
    covariance = scores.T @ (q[:, None] * scores)
    length = np.linalg.norm(hessian)
    np.testing.assert_allclose(found.fisher_gap, 0, atol=1e-6)
    np.testing.assert_allclose(found.fisher_trace, 1, rtol=1e-6)
    gap = np.linalg.norm(covariance - hessian) / length
    np.testing.assert_allclose(found.covariance_gap, gap, rtol=1e-5)
    traces = np.trace(covariance) / np.trace(hessian)
    np.testing.assert_allclose(found.covariance_trace, traces, rtol=1e-5)
    np.testing.assert_allclose(found.gradient, np.linalg.norm(p - q), rtol=1e-5)
    divergences = (TRUTH * np.log(TRUTH / p)).sum(1)
    np.testing.assert_allclose(found.divergence, WEIGHTS @ divergences, rtol=1e-5)


def test_nets_are_kept_where_they_are_asked_for():
    steps = jnp.array([1, 3, 40])
    nets = trained(unigram(), jnp.zeros(3), problem(), steps, num_updates=40)
    short = trained(unigram(), jnp.zeros(3), problem(), jnp.array([3, 40]), num_updates=40)
    assert nets.shape == (3, 3)
    np.testing.assert_array_equal(nets[1:], short)
    np.testing.assert_allclose(np.abs(nets[0]), 0.01, rtol=1e-3)  # a first step of Adam
    values = [divergence(unigram(), net, problem()) for net in nets]
    assert values == sorted(values, reverse=True)


def course(power=0.5):
    """A training whose distances are a power of its divergence."""
    kl = np.array([1.0, 0.05, 0.02, 1e-3, 1e-5])
    gap = 0.3 * kl**power
    columns = (kl, kl, gap, gap / 2, 1 + gap, 1 - gap)
    return dict(zip(Compared._fields, columns, strict=True))


def test_numbers_of_a_course_by_hand():
    found = run.numbers(course())
    assert found["covariance_power"] == pytest.approx(0.5)
    assert found["fisher_power"] == pytest.approx(0.5)
    assert found["covariance_gap_at_start"] == pytest.approx(0.3)
    assert found["divergence"] == 1e-5
    share = np.log(0.02 / 0.008) / np.log(0.02 / 1e-3)
    low, high = 1 + 0.3 * 0.02**0.5, 1 + 0.3 * 1e-3**0.5
    assert found["covariance_trace_at_paper"] == pytest.approx(low + share * (high - low))


def test_a_course_that_never_gets_there_has_no_number_there():
    found = run.numbers({name: column[:3] for name, column in course().items()})
    assert not any("paper" in name or "power" in name for name in found)
