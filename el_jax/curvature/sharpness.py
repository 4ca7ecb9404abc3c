"""Sharpness from values and gradients of the loss at a distance from the parameters.

No second derivative is taken, so any attention kernel works.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

from el_jax.curvature.arguments import check_count, check_finite, check_params, check_tangent
from el_jax.curvature.sampling import normals
from el_jax.process.errors import require
from el_jax.types import Key, Params

Loss = Callable[[Params], Array]


class CriticalSharpness(NamedTuple):
    """The first step along a direction that raises the loss.

    Attributes:
        sharpness: 2 / step, comparable with eigenvalues of H; 0 if no step raises the loss.
        step: η_c; infinite if no step up to the largest does, and 0 if the smallest does.
    """

    sharpness: Float[Array, ""]
    step: Float[Array, ""]


def critical_sharpness(
    loss: Loss,
    params: Params,
    direction: Params | None = None,
    *,
    first_step: float = 1e-3,
    num_doublings: int = 40,
    tolerance: float = 1 / 16,
) -> CriticalSharpness:
    """2 / η_c with η_c the least step along -direction at which the loss is above L(θ).

    Kalra et al. 2026 (arXiv 2601.16979). For a quadratic loss and gradient direction g it is gᵀHg /
    gᵀg, between the eigenvalues of H. The step is doubled, or halved, until the loss crosses L(θ),
    then bisected: some ten forward passes. A loss that rises and falls again within one doubling is
    not detected.

    Args:
        loss: any function of the parameters with a gradient.
        params: θ.
        direction: a tree like ``params``; the gradient at θ when None.
        first_step: where the search starts.
        num_doublings: largest number of doublings or halvings. Steps below the rounding of the loss
            do not raise it.
        tolerance: relative width of the last interval for η_c; its middle is returned.

    Raises:
        ValueError: if a number is out of range, ``direction`` does not have the tree of ``params``,
            or L(θ) is not finite.
    """
    require("first_step", first_step, first_step > 0, "positive")
    require("tolerance", tolerance, 0 < tolerance < 1, "between 0 and 1")
    check_count("num_doublings", num_doublings)
    check_params(params)
    if direction is None:
        here, direction = jax.value_and_grad(loss)(params)
    else:
        check_tangent(params, direction, "direction")
        here = loss(params)
    check_finite("loss(params)", here, "loss(params)", lambda: here)

    def rises(step: Float[Array, ""]) -> Bool[Array, ""]:
        # A loss that overflows is above every finite one.
        return ~(loss(_moved(params, direction, -step)) <= here)

    def search(keep_on: Loss, step: Array, factor: float) -> Array:
        """The first of step, factor step, ... at which to stop."""
        return jax.lax.while_loop(
            lambda state: keep_on(state[0]) & (state[1] < num_doublings),
            lambda state: (state[0] * factor, state[1] + 1),
            (step, 0),
        )[0]

    def bisect(_: Array, low_and_high: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = low_and_high
        middle = (low + high) / 2
        above = rises(middle)
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    high = search(lambda step: ~rises(step), jnp.asarray(first_step, here.dtype), 2.0)
    low = search(rises, high / 2, 0.5)
    halvings = math.ceil(-math.log2(tolerance))
    step = sum(jax.lax.fori_loop(0, halvings, bisect, (low, 2 * low))) / 2
    step = jnp.where(rises(high), jnp.where(rises(low), 0, step), jnp.inf)
    return CriticalSharpness(2 / step, step)


def sharpness(
    loss: Loss,
    params: Params,
    key: Key,
    *,
    radius: float,
    num_steps: int = 20,
    adaptive: bool = False,
) -> Float[Array, ""]:
    """The largest L(θ + d) - L(θ) found for ‖d‖ = radius, in nats: a lower bound of the largest.

    d follows the gradient, d ← radius ∇L(θ + d) / ‖∇L(θ + d)‖, from a random start. Near a minimum
    this is power iteration and gives radius² λ_max / 2 to second order. Foret et al. 2021 (arXiv
    2010.01412) take one step.

    Args:
        loss: a differentiable function of the parameters.
        params: θ.
        key: key of the start.
        radius: radius of the ball, in units of the parameters.
        num_steps: number of gradients.
        adaptive: measure d in units of |θ|, ‖d / |θ|‖ = radius, which rescaling of layers does
            not change (Kwon et al. 2021, arXiv 2102.11600).

    Raises:
        ValueError: if a number is out of range, or the result is not finite.
    """
    require("radius", radius, radius > 0, "positive")
    check_count("num_steps", num_steps)
    check_params(params)
    units = jax.tree.map(lambda p: jnp.abs(p) if adaptive else jnp.ones_like(p), params)

    def on_sphere(direction: Params, otherwise: Params) -> Params:
        length = jnp.sqrt(sum(jnp.square(x).sum() for x in jax.tree.leaves(direction)))
        factor = jnp.where(length > 0, radius / jnp.where(length > 0, length, 1), 0)
        return jax.tree.map(
            lambda x, y: jnp.where(length > 0, factor.astype(x.dtype) * x, y), direction, otherwise
        )

    def at(step: Params) -> Params:
        return jax.tree.map(lambda p, u, x: p + u * x, params, units, step)

    def ascend(step: Params, _: None) -> tuple[Params, Array]:
        value, slope = jax.value_and_grad(loss)(at(step))
        return on_sphere(jax.tree.map(jnp.multiply, units, slope), otherwise=step), value

    random = normals(key, params)
    last, values = jax.lax.scan(ascend, on_sphere(random, random), length=num_steps)
    rise = jnp.maximum(values.max(), loss(at(last))) - loss(params)
    check_finite("sharpness", rise, "loss(params)", lambda: loss(params))
    return rise


def _moved(params: Params, direction: Params, step: Float[Array, ""]) -> Params:
    return jax.tree.map(lambda p, d: p + step.astype(p.dtype) * d, params, direction)
