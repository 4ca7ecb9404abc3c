"""Means over parts of the data, compared with the mean over all of it at once."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import GaussNewton, Hessian, mean_over_parts
from el_jax.curvature.sampling import signs
from tests.curvature.small_losses import (
    classifier_params,
    contexts,
    cross_entropy,
    logits,
    observed,
)

pytestmark = pytest.mark.usefixtures("float64")


def loss_of(data, params):
    return cross_entropy(*data)(params)


def outputs_of(data, params):
    return jax.vmap(logits, (None, 0))(params, data[0])


def of_outputs(data, outputs):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(outputs), data[1][:, None], axis=1)
    return -chosen.mean()


PRODUCTS = {
    "hvp": lambda data, p, v: Hessian(partial(loss_of, data), p).matvec(v),
    "form": lambda data, p, v: Hessian(partial(loss_of, data), p).quadratic_form(v),
    "ggn": lambda data, p, v: GaussNewton(
        partial(outputs_of, data), partial(of_outputs, data), p
    ).matvec(v),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("num_parts", [1, 2, 8])
def test_a_product_is_the_mean_of_those_of_the_parts(name, num_parts):
    data, params = (contexts(), observed()), classifier_params()
    product, v = PRODUCTS[name], signs(jax.random.key(0), params)
    found = mean_over_parts(lambda part: product(part, params, v), data, num_parts)
    whole = product(data, params, v)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-11, atol=1e-14), found, whole)


@pytest.mark.parametrize("num_parts", [4, 8])  # of 8, the first has weight 0 and no mean
def test_unequal_weights_are_those_of_the_whole(num_parts):
    weights = jnp.arange(8.0)
    data = jnp.asarray(np.random.default_rng(0).normal(size=8)), weights

    def mean(part):
        values, weights = part
        return (values * weights).sum() / weights.sum()

    found = mean_over_parts(mean, data, num_parts, weights=weights)
    np.testing.assert_allclose(found, mean(data), rtol=1e-14)


def test_memory_is_that_of_a_part():
    x = jnp.zeros((64, 500))

    def wide(part):
        return jnp.tanh(jnp.repeat(part, 20, axis=1)).sum()

    def planned(num_parts):
        run = jax.jit(lambda x: mean_over_parts(jax.grad(wide), x, num_parts).sum())
        return run.lower(x).compile().memory_analysis().temp_size_in_bytes

    assert planned(16) < 0.2 * planned(1)


@pytest.mark.parametrize("num_parts", [0, 3, 9])
def test_parts_must_be_equal(num_parts):
    message = f"^num_parts={num_parts}: must be a divisor of the 8 examples$"
    with pytest.raises(ValueError, match=message):
        mean_over_parts(jnp.sum, jnp.ones(8), num_parts)
