"""Number, mean and spread of a quantity, mergeable without cancellation (Chan et al. 1979)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int


class Moments(NamedTuple):
    """Sample moments; any leading shape.

    Attributes:
        num: number of values.
        mean: their mean; 0 if there are no values.
        m2: sum of squared deviations from the mean.
    """

    num: Float[Array, "*shape"]
    mean: Float[Array, "*shape"]
    m2: Float[Array, "*shape"]


def single(value: Float[Array, "*shape"]) -> Moments:
    """Moments of single values, one per entry."""
    return Moments(jnp.ones_like(value), value, jnp.zeros_like(value))


def moments_by_group(
    values: Float[Array, "B P"],
    groups: Int[Array, "B P"],
    mask: Bool[Array, "B P"],
    num_groups: int,
) -> Moments:
    """Moments of the unmasked values of each group, shape ``[num_groups]``."""
    member = (groups[None] == jnp.arange(num_groups)[:, None, None]) & mask[None]
    weight = member.astype(jnp.float32)
    count = weight.sum((1, 2))
    # where, not a product: a masked NaN must not poison the sum
    mean = jnp.where(member, values[None], 0.0).sum((1, 2)) / jnp.maximum(count, 1.0)
    deviation = jnp.where(member, values[None] - mean[:, None, None], 0.0)
    return Moments(count, mean, jnp.square(deviation).sum((1, 2)))


def pool(moments: Moments, axis: int = 0) -> Moments:
    """Merge the moments along ``axis`` into those of all their values."""
    count = moments.num.sum(axis)
    total = (moments.num * moments.mean).sum(axis)
    mean = total / jnp.maximum(count, 1.0)
    between = jnp.square(moments.mean - jnp.expand_dims(mean, axis)) * moments.num
    return Moments(count, mean, moments.m2.sum(axis) + between.sum(axis))


def pool_tree(tree: dict[str, Moments], axis: int = 0) -> dict[str, Moments]:
    """``pool`` on every entry of a dict."""
    return jax.tree.map(
        lambda m: pool(m, axis), tree, is_leaf=lambda leaf: isinstance(leaf, Moments)
    )
