"""Every measure of several runs is one program, which gives each the numbers it has alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import (
    Fisher,
    Hessian,
    critical_sharpness,
    hutch_plus_plus,
    sharpness,
    xtrace,
)
from tests.curvature.small_losses import (
    classifier_params,
    contexts,
    cross_entropy,
    logits,
    observed,
)

pytestmark = pytest.mark.usefixtures("float64")
KEY = jax.random.key(0)
LOSS = cross_entropy(contexts(), observed())


def hessian(params):
    return Hessian(LOSS, params)


def fisher(params):
    return Fisher(logits, params, contexts(), chunk=4)


MEASURES = {
    "matvec": lambda p: hessian(p).matvec(classifier_params(9)),
    "quadratic form": lambda p: hessian(p).quadratic_form(classifier_params(9)),
    "trace": lambda p: hessian(p).trace(KEY, 6, chunk=4),
    "exact trace": lambda p: hessian(p).exact_trace(chunk=5),
    "scale-free trace": lambda p: hessian(p).scale_free_trace(KEY, 3),
    "hutch++": lambda p: hutch_plus_plus(hessian(p), KEY, 5, chunk=3),
    "xtrace": lambda p: xtrace(hessian(p), KEY, 5, chunk=3),
    "eigenvalues": lambda p: hessian(p).eigenvalues(KEY, 2, num_steps=8).values,
    "density": lambda p: hessian(p).density(KEY, num_probes=2, num_steps=4).nodes,
    "critical sharpness": lambda p: critical_sharpness(LOSS, p),
    "sharpness": lambda p: sharpness(LOSS, p, KEY, radius=0.1, num_steps=3),
    "sampled Fisher trace": lambda p: fisher(p).sampled_trace(KEY, 3),
    "controlled Hessian trace": lambda p: fisher(p).controlled_hessian_trace(observed(), KEY),
}


def stacked(trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


@pytest.mark.parametrize("name", MEASURES)
def test_several_runs_are_one_program(name):
    measure, runs = MEASURES[name], [classifier_params(seed) for seed in range(3)]
    together = jax.jit(jax.vmap(measure))(stacked(runs))
    alone = stacked([measure(params) for params in runs])
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10), together, alone
    )


@pytest.mark.parametrize("estimator", [hutch_plus_plus, xtrace])
def test_the_chunk_of_a_sketch_changes_nothing(estimator):
    whole, in_parts = (estimator(hessian(classifier_params()), KEY, 5, chunk=c) for c in (5, 3))
    np.testing.assert_allclose(in_parts, whole, rtol=1e-9)
