"""Products of bfloat16 numbers in float32, with derivatives that are products of bfloat16."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.models.wide_products import wide_einsum
from el_jax.planning.products import count_products

SPEC = "bqghk,btgk->bghqt"
KEYS = jax.random.split(jax.random.key(0), 3)
LEFT = jax.random.normal(KEYS[0], (2, 3, 2, 2, 5))
RIGHT = jax.random.normal(KEYS[1], (2, 4, 2, 5))


def narrow(*arrays):
    return tuple(array.astype(jnp.bfloat16) for array in arrays)


def loss(left, right):
    return jnp.sin(wide_einsum(SPEC, left, right)).sum()


def hessian_product(left, right):
    return jax.jvp(jax.grad(loss, argnums=(0, 1)), (left, right), (left, right))[1]


def test_the_result_is_the_product_in_float32():
    left, right = narrow(LEFT, RIGHT)
    found = wide_einsum(SPEC, left, right)
    wide = [np.asarray(array, np.float64) for array in (left, right)]
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, np.einsum(SPEC, *wide), rtol=0, atol=1e-5)


@pytest.mark.parametrize("derivative", [jax.grad(loss, argnums=(0, 1)), hessian_product])
def test_derivatives_are_products_of_bfloat16_and_near_those_of_float32(derivative):
    operands = narrow(LEFT, RIGHT)
    assert count_products(derivative, *operands).operations.keys() == {"bfloat16"}
    assert count_products(derivative, LEFT, RIGHT).operations.keys() == {"float32"}
    exact = derivative(*(array.astype(jnp.float32) for array in operands))
    for found, expected in zip(derivative(*operands), exact, strict=True):
        error = np.abs(np.asarray(found, np.float32) - expected).max() / np.abs(expected).max()
        assert error < 0.02  # a bfloat16 has 8 significant bits


def test_wider_operands_are_multiplied_as_before():
    def plain(left, right):
        return jnp.einsum(
            SPEC, left, right, precision="highest", preferred_element_type=jnp.float32
        )

    traces = [
        str(jax.make_jaxpr(function)(LEFT, RIGHT))
        for function in (lambda a, b: wide_einsum(SPEC, a, b, "highest"), plain)
    ]
    assert traces[0] == traces[1]
    with jax.enable_x64(True):
        exact = jnp.ones(LEFT.shape, jnp.float64)
        assert wide_einsum(SPEC, exact, exact[:, 0:1, :, 0]).dtype == jnp.float64
