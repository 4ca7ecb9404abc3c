"""Float32 products of bfloat16 numbers whose derivatives are also products of bfloat16.

The derivative of a float32 result is float32 and would be multiplied with the other operand in
float32: at half of a GPU's speed, for the logits and the attention scores alone.
"""

import functools

import jax
import jax.numpy as jnp
from jax import Array


def wide_einsum(spec: str, left: Array, right: Array, precision: str = "default") -> Array:
    """``jnp.einsum`` in float32, or in the operands' format if that is wider.

    Args:
        spec: subscripts of the two operands and of the result.
        left: an operand.
        right: the other one; if both are bfloat16, derivatives are rounded to bfloat16 before they
            are multiplied.
        precision: precision of the product, as in ``jnp.matmul``.
    """
    if left.dtype == right.dtype == jnp.bfloat16:
        return _wide(spec, precision, left, right)
    wide = jnp.promote_types(jnp.promote_types(left.dtype, right.dtype), jnp.float32)
    return jnp.einsum(spec, left, right, precision=precision, preferred_element_type=wide)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _wide(spec: str, precision: str, left: Array, right: Array) -> Array:
    return jnp.einsum(spec, left, right, precision=precision, preferred_element_type=jnp.float32)


@_wide.defjvp
def _wide_jvp(
    spec: str, precision: str, at: tuple[Array, Array], along: tuple[Array, Array]
) -> tuple[Array, Array]:
    (left, right), (left_change, right_change) = at, along
    change = jnp.einsum(spec, left_change, right, precision=precision)
    change = change + jnp.einsum(spec, left, right_change, precision=precision)
    return _wide(spec, precision, left, right), change.astype(jnp.float32)
