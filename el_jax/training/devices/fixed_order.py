"""Sums over groups of windows whose bits do not depend on the number of devices."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array


def one_by_one(function: Callable[[Array], Any], num: int) -> Any:
    """Stack ``function(0)`` to ``function(num - 1)``; their code does not depend on ``num``."""
    shapes = jax.eval_shape(function, jnp.int32(0))
    rows = jax.tree.map(lambda leaf: jnp.zeros((num, *leaf.shape), leaf.dtype), shapes)
    # XLA unrolls a short loop of known length and fuses it with its surroundings: other bits
    unknown = jax.lax.optimization_barrier(jnp.int32(num))

    def body(i: Array, rows: Any) -> Any:
        return jax.tree.map(lambda row, value: row.at[i].set(value), rows, function(i))

    return jax.lax.fori_loop(0, unknown, body, rows)


def sum_in_order(parts: Array, axis: str) -> Array:
    """Sum over the first axis and all devices, in the order of the groups.

    Args:
        parts: the groups of this device.
        axis: name of the axis of devices.
    """
    # not per device first: that order would depend on how many groups a device has
    gathered = jax.lax.all_gather(parts, axis, tiled=True)  # [G, ...]
    total, _ = jax.lax.scan(
        lambda so_far, group: (so_far + group, None), jnp.zeros_like(gathered[0]), gathered
    )
    return total
