"""Reductions over tokens. Sum and count stay separate until the last division.

The mean of unequal batches is not the mean of their means: add sums and counts over micro-batches
and devices, then divide once.
"""

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int


def masked_sum_and_count(
    values: Float[Array, "*batch"], mask: Bool[Array, "*batch"]
) -> tuple[Float[Array, ""], Int[Array, ""]]:
    """Sum of the values under the mask, and their number.

    Values outside the mask are replaced, not multiplied by 0, so NaN and inf among them do not
    affect the sum (their own gradient may still be NaN).
    """
    return jnp.where(mask, values, 0).sum(), mask.sum()


def masked_mean(values: Float[Array, "*batch"], mask: Bool[Array, "*batch"]) -> Float[Array, ""]:
    """Mean of the values under the mask; NaN if the mask is empty."""
    total, count = masked_sum_and_count(values, mask)
    return total / count
