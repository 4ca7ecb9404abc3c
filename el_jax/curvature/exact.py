"""The exact trace and diagonal of the Hessian, one coordinate at a time, and what they cost."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from el_jax.curvature.arguments import check_count, check_finite, check_params
from el_jax.curvature.products import Loss, quadratic_form
from el_jax.curvature.sampling import map_in_chunks
from el_jax.types import Params


class ExactCost(NamedTuple):
    """The cost of an exact trace or diagonal.

    Attributes:
        num_products: products vᵀ H v, one for each parameter; ``products.py`` has their price.
        num_passes: passes over the data, with up to ``chunk`` products in each.
        direction_bytes: memory of the directions of one pass, beside that of its products.
    """

    num_products: int
    num_passes: int
    direction_bytes: int


def exact_cost(params: Params, *, chunk: int = 1) -> ExactCost:
    """The cost of :func:`exact_hessian_trace` with the same ``chunk``; nothing is computed.

    Args:
        params: θ, or its shapes (``jax.eval_shape``).
        chunk: coordinates at once.

    Raises:
        ValueError: if ``chunk`` is below 1.
    """
    check_params(params)
    check_count("chunk", chunk)
    kinds = [jax.typeof(leaf) for leaf in jax.tree.leaves(params)]
    num = sum(kind.size for kind in kinds)
    size = sum(kind.size * kind.dtype.itemsize for kind in kinds)
    return ExactCost(num, math.ceil(num / chunk), min(chunk, num) * size)


def exact_hessian_trace(loss: Loss, params: Params, *, chunk: int = 1) -> Float[Array, ""]:
    """Tr H = Σ_i e_iᵀ H e_i over all P coordinates; :func:`exact_cost` tells the price first.

    Args:
        loss: a twice differentiable function of the parameters.
        params: θ.
        chunk: coordinates at once, the factor by which memory grows.

    Raises:
        ValueError: if ``chunk`` is below 1, or loss or trace is not finite.
    """
    return _coordinate_forms(loss, params, chunk).sum()


def exact_hessian_diagonal(loss: Loss, params: Params, *, chunk: int = 1) -> Params:
    """H_ii of every coordinate, a tree like ``params``.

    Arguments, cost and errors are those of :func:`exact_hessian_trace`.
    """
    forms, start = _coordinate_forms(loss, params, chunk), 0
    leaves, structure = jax.tree.flatten(params)
    diagonal = []
    for leaf in leaves:
        kind = jax.typeof(leaf)
        entries = forms[start : start + kind.size]
        diagonal.append(entries.reshape(kind.shape).astype(kind.dtype))
        start += kind.size
    return jax.tree.unflatten(structure, diagonal)


def _coordinate_forms(loss: Loss, params: Params, chunk: int) -> Float[Array, " P"]:
    """e_iᵀ H e_i, the leaves one after the other."""
    num = exact_cost(params, chunk=chunk).num_products

    def one(coordinate: Int[Array, ""]) -> Float[Array, ""]:
        return quadratic_form(loss, params, _unit(params, coordinate))

    forms = map_in_chunks(one, jnp.arange(num), chunk)
    check_finite("trace", forms.sum(), "loss(params)", lambda: loss(params))
    return forms


def _unit(params: Params, coordinate: Int[Array, ""]) -> Params:
    """The unit vector of a coordinate, which may be traced."""
    leaves, structure = jax.tree.flatten(params)
    units = []
    for leaf in leaves:
        kind = jax.typeof(leaf)
        hit = jnp.arange(kind.size) == coordinate
        units.append(hit.astype(kind.dtype).reshape(kind.shape))
        coordinate = coordinate - kind.size
    return jax.tree.unflatten(structure, units)
