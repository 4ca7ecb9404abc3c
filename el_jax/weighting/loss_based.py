"""Dynamic loss-based weights (Sow et al. 2025, arXiv:2502.06733).

A window's place between the smallest and the largest loss of its update is h in [-1, 1]; weights
are a softmax of a function of it. The released code uses equal weights for the first 1,000 updates
and may lower r afterwards; here r is constant.
"""

from typing import Annotated

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, ScalarLike

from el_jax.numbers import Number

Temperature = Annotated[ScalarLike, Number(1.0, above=0)]


def lin_upper(losses: Float[Array, "B"], *, r: Temperature) -> Float[Array, "B"]:
    """exp(min(h + 1, 1) / r): less weight for windows with losses below the middle."""
    return _softmax(jnp.minimum(_place(losses) + 1, 1), r)


def quadratic(losses: Float[Array, "B"], *, r: Temperature) -> Float[Array, "B"]:
    """exp((1 - h²) / r): less weight for the best and the worst."""
    return _softmax(1 - jnp.square(_place(losses)), r)


def extremes(losses: Float[Array, "B"], *, r: Temperature) -> Float[Array, "B"]:
    """exp(|h| / r): more weight for the best and the worst."""
    return _softmax(jnp.abs(_place(losses)), r)


def _softmax(score: Float[Array, "B"], r: ScalarLike) -> Float[Array, "B"]:
    """exp(score / r) over its largest entry, so a small r cannot overflow or lose every window."""
    return jnp.exp((score - score.max()) / r)


def _place(losses: Float[Array, "B"]) -> Float[Array, "B"]:
    """Each loss on the scale from -1, the smallest, to 1, the largest; 0 where all are equal."""
    low, high = losses.min(), losses.max()
    span = high - low
    return (2 * losses - low - high) / jnp.where(span > 0, span, 1)
