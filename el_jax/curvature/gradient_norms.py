"""Squared norms of many gradients of one function, without forming the gradients of its matrices.

The gradient of a matrix that maps rows a ``[T, in]`` is aᵀ b, with b ``[T, out]`` the cotangent of
the output, and its squared norm is

    ‖aᵀ b‖² = Σ (A b) ⊙ b,  A = a aᵀ  ``[T, T]``

(Goodfellow 2015, arXiv 1510.01799, for T = 1). The rows a do not depend on the cotangent, so A is
computed once for all pullbacks, and each costs T · T · out operations instead of T · in · out for
the gradient: less, if T < in. The method works on the traced program of the pullback, so it applies
to any model: the matrices are the products at the end of this program, and every other leaf of the
parameters is squared directly.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.extend.core import Jaxpr, JaxprEqn, Literal
from jaxtyping import Float

from el_jax.types import Params

_KEEPS_NORM = ("transpose", "reshape", "squeeze", "expand_dims")  # same entries in another order


class _Product(NamedTuple):
    """The gradient of a matrix, as a product of known rows and rows pulled back."""

    known: Any
    pulled: Any
    known_axes: tuple[int, ...]
    pulled_axes: tuple[int, ...]


def gradient_norms(
    function: Callable[[Params], Float[Array, "*out"]], params: Params
) -> tuple[Float[Array, "*out"], Callable[[Float[Array, "*out"]], Float[Array, " L"]]]:
    """The value f(θ), and the function c ↦ ‖∂(c · f)/∂θ_l‖² of each of the L leaves of θ.

    That function can be mapped over many c; everything independent of c is computed once.

    Args:
        function: f, from parameters to one array.
        params: θ.
    """
    value, pull_back = jax.vjp(function, params)
    closed = jax.make_jaxpr(lambda cotangent: jax.tree.leaves(pull_back(cotangent)))(value)
    program = closed.jaxpr
    once, each = _split(program)
    maker = {variable: eqn for eqn in each for variable in eqn.outvars}
    waiting = {*program.invars, *maker}
    products = [_product(leaf, maker, waiting) for leaf in program.outvars]
    leaves = [p.pulled if p else leaf for p, leaf in zip(products, program.outvars, strict=True)]
    needed = _needed(each, leaves)
    constants = _run(once, dict(zip(program.constvars, closed.consts, strict=True)))
    forms = [_form(constants[p.known], p) if p else _square for p in products]

    def norms(cotangent: Float[Array, "*out"]) -> Float[Array, " L"]:
        values = _run(needed, {**constants, program.invars[0]: cotangent})
        pulled = [_read(leaf, values) for leaf in leaves]
        return jnp.stack([form(rows) for form, rows in zip(forms, pulled, strict=True)])

    return value, norms


def _split(program: Jaxpr) -> tuple[list[JaxprEqn], list[JaxprEqn]]:
    """The equations that depend only on constants, and those that need the cotangent."""
    waiting, once, each = set(program.invars), [], []
    for eqn in program.eqns:
        if waiting.isdisjoint(_variables(eqn.invars)):
            once.append(eqn)
        else:
            each.append(eqn)
            waiting.update(eqn.outvars)
    return once, each


def _needed(eqns: Sequence[JaxprEqn], outputs: Sequence[Any]) -> list[JaxprEqn]:
    """The equations that the outputs depend on, in order."""
    wanted, kept = set(_variables(outputs)), []
    for eqn in reversed(eqns):
        if not wanted.isdisjoint(eqn.outvars):
            kept.append(eqn)
            wanted.update(_variables(eqn.invars))
    return kept[::-1]


def _variables(atoms: Sequence[Any]) -> list[Any]:
    return [atom for atom in atoms if not isinstance(atom, Literal)]


def _run(eqns: Sequence[JaxprEqn], values: Mapping[Any, Any]) -> dict[Any, Any]:
    """The values of all variables after some equations of a program."""
    values = dict(values)
    for eqn in eqns:
        inputs = [_read(atom, values) for atom in eqn.invars]
        found = eqn.primitive.bind(*inputs, **eqn.primitive.get_bind_params(eqn.params))
        results = found if eqn.primitive.multiple_results else [found]
        values.update(zip(eqn.outvars, results, strict=True))
    return values


def _read(atom: Any, values: Mapping[Any, Any]) -> Any:
    return atom.val if isinstance(atom, Literal) else values[atom]


def _product(leaf: Any, maker: Mapping[Any, JaxprEqn], waiting: Collection[Any]) -> _Product | None:
    """The product that a leaf of the gradient is, up to the order of its entries.

    None if it is not a product, or if it has at least as many known rows as columns.

    Args:
        leaf: a variable of the program, or a literal.
        maker: variable -> its defining equation, for all variables that need the cotangent.
        waiting: all variables that need the cotangent, itself included.
    """
    eqn = None if isinstance(leaf, Literal) else maker.get(leaf)
    while eqn is not None and eqn.primitive.name in _KEEPS_NORM:
        eqn = maker.get(eqn.invars[0])
    if eqn is None or eqn.primitive.name != "dot_general":
        return None
    axes, (batch, _) = eqn.params["dimension_numbers"]
    (first, second), (first_axes, second_axes) = eqn.invars, axes
    for side in (
        _Product(first, second, first_axes, second_axes),
        _Product(second, first, second_axes, first_axes),
    ):
        if not batch and side.pulled in waiting and side.known not in waiting:
            shape = side.known.aval.shape
            num_rows = math.prod(shape[axis] for axis in side.known_axes)
            return side if num_rows**2 < math.prod(shape) else None
    return None


def _rows(array: Array, axes: Sequence[int]) -> Float[Array, "T free"]:
    """The array as a matrix: the axes that the product sums over, and all others."""
    others = [axis for axis in range(array.ndim) if axis not in axes]
    num_rows = math.prod(array.shape[axis] for axis in axes)
    return array.transpose(*axes, *others).reshape(num_rows, -1)


def _form(known: Array, product: _Product) -> Callable[[Array], Float[Array, ""]]:
    """The function b ↦ ‖aᵀ b‖² with its A, for rows a in the program's layout."""
    rows = _rows(known, product.known_axes)
    gram = jnp.matmul(rows, rows.T, precision=lax.Precision.HIGHEST)

    def form(pulled: Array) -> Float[Array, ""]:
        back = _rows(pulled, product.pulled_axes)
        return (jnp.matmul(gram, back, precision=lax.Precision.HIGHEST) * back).sum()

    return form


def _square(gradient: Array) -> Float[Array, ""]:
    return jnp.square(gradient).sum()
