"""The share of trials in which the truth is within two and within three stated errors.

Each trial has draws of its own and, where the estimator states the error of a sample, contexts of
its own. All trials of an estimator are one program. ``hutch_plus_plus`` has no such test: its error
comes from few probes, so that three errors are too few (Student's t).
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from el_jax.curvature import Fisher, Hessian, xtrace
from tests.curvature.small_losses import (
    classifier_params,
    contexts,
    cross_entropy,
    example_loss,
    logits,
    observed,
)

TRIALS = 400
PARAMS = classifier_params()
LOSS = cross_entropy(contexts(), observed())
POPULATION = 2_000
DRAWN = 300  # contexts of a trial, enough for their mean to be normal


def population():
    return contexts(num=POPULATION), observed(num=POPULATION)


def sample(key):
    """Contexts and labels of one trial, and a key for its draws."""
    of_contexts, of_draws = jax.random.split(key)
    rows = jax.random.choice(of_contexts, POPULATION, (DRAWN,))
    return *(leaf[rows] for leaf in population()), of_draws


def probes(key):
    return Hessian(LOSS, PARAMS).trace(key, 64, chunk=64)


def examples(key):
    inputs, labels, draws = sample(key)
    return Hessian(example_loss, PARAMS).over((inputs, labels), chunk=DRAWN).sampled_trace(draws, 2)


def controlled(key):
    inputs, labels, draws = sample(key)
    return Fisher(logits, PARAMS, inputs, chunk=DRAWN).controlled_hessian_trace(labels, draws, 2)


def fisher(key):
    inputs, _, draws = sample(key)
    return Fisher(logits, PARAMS, inputs, chunk=DRAWN).sampled_trace(draws, 2)


def trace_of_the_population():
    return Hessian(cross_entropy(*population()), PARAMS).exact_trace(chunk=4)


def fisher_of_the_population():
    return Fisher(logits, PARAMS, population()[0], chunk=500).all_labels_trace().mean


TRUTHS = {
    probes: lambda: Hessian(LOSS, PARAMS).exact_trace(chunk=25),
    examples: trace_of_the_population,
    controlled: trace_of_the_population,
    fisher: fisher_of_the_population,
}


@pytest.mark.parametrize("estimate", TRUTHS, ids=lambda estimate: estimate.__name__)
def test_stated_errors_cover_the_truth_as_often_as_they_say(estimate):
    truth = float(jax.jit(TRUTHS[estimate])())
    found = jax.jit(jax.vmap(estimate))(jax.random.split(jax.random.key(1), TRIALS))
    off = np.abs(np.asarray(found.mean) - truth) / np.asarray(found.sem)
    assert 0.93 <= (off < 2.0).mean() <= 0.97  # .954 for normal numbers
    assert (off[:300] < 3).mean() >= 0.99
    assert abs(found.mean.mean() - truth) < 4 * found.mean.std() / TRIALS**0.5  # no bias


@pytest.mark.parametrize("power", [0, 1, 2])
def test_the_interval_that_xtrace_advises_covers_the_truth(power):
    num, probes = 80, 12
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(num, num)))[0]
    sizes = np.arange(1.0, num + 1) ** -power if power else np.linspace(0, 1, num)
    matrix = jnp.asarray((basis * sizes) @ basis.T)

    def estimate(key):
        hessian = Hessian(lambda x: x @ matrix @ x / 2, jnp.zeros(num))
        return xtrace(hessian, key, probes, chunk=probes)

    found = jax.jit(jax.vmap(estimate))(jax.random.split(jax.random.key(2), 800))
    off = np.abs(np.asarray(found.mean) - sizes.sum()) / np.asarray(found.sem)
    student = stats.t.ppf(0.975, probes - 1)
    assert (off < student).mean() < 0.96
    assert 0.92 <= (off < 1.25 * student).mean() <= 0.985
