import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from matfree import stochtrace

from el_jax.curvature import Hessian, hutch_plus_plus, xtrace
from el_jax.curvature.sampling import normals, numbered_keys
from tests.curvature.small_losses import (
    classifier_params,
    contexts,
    cross_entropy,
    observed,
    quadratic,
    symmetric_matrix,
    tree_of,
)

KEY = jax.random.key(0)
AT = np.random.default_rng(3).normal(size=19)
DECAYING = symmetric_matrix(eigenvalues=2.0 ** -np.arange(19))
each = pytest.mark.parametrize("estimator", [hutch_plus_plus, xtrace])
pytestmark = pytest.mark.usefixtures("float64")


def over_keys(estimate, trials):
    return jax.jit(jax.vmap(estimate))(jax.random.split(jax.random.key(1), trials))


@each
@pytest.mark.parametrize("rank", [0, 1, 4])
def test_a_matrix_of_low_rank_has_its_exact_trace(estimator, rank):
    values = np.r_[np.arange(1.0, rank + 1), np.zeros(19 - rank)]
    loss = quadratic(symmetric_matrix(eigenvalues=values))
    mean, sem = estimator(Hessian(loss, tree_of(AT)), KEY, 6)
    assert abs(mean - values.sum()) < 1e-10
    assert sem < 1e-10


@each
def test_as_many_probes_as_parameters_are_exact(estimator):
    loss = quadratic(symmetric_matrix())
    mean, _ = estimator(Hessian(loss, tree_of(AT)), KEY, 19)
    assert abs(mean - np.trace(symmetric_matrix())) < 1e-8


@each
def test_the_mean_over_keys_is_the_trace_and_the_error_is_the_spread(estimator):
    loss, at = quadratic(DECAYING), tree_of(AT)
    found = over_keys(lambda key: estimator(Hessian(loss, at), key, 5), 2000)
    spread = found.mean.std()
    assert abs(found.mean.mean() - np.trace(DECAYING)) < 4 * spread / 2000**0.5
    stated = np.sqrt(np.square(found.sem).mean())
    assert 0.8 < stated / spread < 1.5


@each
def test_of_two_lapack_calls_one_waits_for_the_other(estimator):
    """Independent calls would each hold a thread of XLA's pool until done: two cores would hang."""
    loss, at = quadratic(DECAYING), tree_of(AT)
    keys = jax.random.split(KEY, 3)
    program = (
        jax.jit(jax.vmap(lambda key: estimator(Hessian(loss, at), key, 5))).lower(keys).compile()
    )
    needs = {}
    for line in program.as_text().splitlines():
        name, _, rest = line.strip().removeprefix("ROOT ").partition(" = ")
        needs[name] = set(re.findall(r"%[\w.-]+", rest)), "lapack_" in rest

    def all_needs(name):
        seen, left = set(), [name]
        while left:
            found = needs.get(left.pop(), (set(), False))[0] - seen
            seen |= found
            left += found
        return seen

    calls = [name for name, (_, lapack) in needs.items() if lapack]
    assert len(calls) >= 2  # those of one factorisation
    for first, second in itertools.combinations(calls, 2):
        assert first in all_needs(second) or second in all_needs(first), (first, second)


def test_xtrace_is_that_of_matfree():
    loss, params = cross_entropy(contexts(), observed()), classifier_params()
    flat, restore = ravel_pytree(params)
    for num in (2, 7):
        samples = jax.vmap(lambda key: ravel_pytree(normals(key, params))[0])(
            numbered_keys(KEY, num)
        )
        with jax.numpy_rank_promotion("allow"):
            theirs = stochtrace.leave_one_out_xtrace()(
                lambda v: ravel_pytree(Hessian(loss, params).matvec(restore(v)))[0], samples
            )
        assert samples.shape == (num, flat.size)
        mean, sem = xtrace(Hessian(loss, params), KEY, num)
        np.testing.assert_allclose(mean, theirs.mean(), rtol=1e-9)
        np.testing.assert_allclose(sem, theirs.std(ddof=1) / num**0.5, rtol=1e-7)


@each
@pytest.mark.parametrize(
    ("num", "message"),
    [(1, "num_probes=1: must be at least 2"), (20, "num_probes=20: must be at most the number")],
)
def test_a_bad_number_of_probes_is_one_line(estimator, num, message):
    with pytest.raises(ValueError, match=message):
        estimator(Hessian(quadratic(DECAYING), tree_of(AT)), KEY, num)


@each
def test_a_loss_that_is_not_finite_is_named(estimator):
    with pytest.raises(ValueError, match=r"loss\(params\)"):
        estimator(
            Hessian(lambda params: jnp.nan * quadratic(DECAYING)(params), tree_of(AT)), KEY, 3
        )
