"""Laws that a product with a curvature matrix obeys, and that published code breaks."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from el_jax.curvature.arguments import check_params, check_tangent
from el_jax.curvature.sampling import normals, numbered_keys
from el_jax.types import Key, Params

Matvec = Callable[[Params, Params], Params]


class OperatorError(ValueError):
    """A product breaks a law; the message has the law and the error.

    Attributes:
        largest: the largest relative error of the laws.
    """

    def __init__(self, message: str, largest: float) -> None:
        super().__init__(message)
        self.largest = largest


def check_operator(
    matvec: Matvec,
    params: Params,
    key: Key,
    *,
    dense: Float[Array, "P P"] | None = None,
    split_matvec: Matvec | None = None,
    constant: bool = False,
    tolerance: float | None = None,
) -> dict[str, float]:
    """Test a product with a symmetric curvature matrix A(θ) on random directions u and v.

    =============  =========================================================================
    linear         A(2u + 3v) = 2 A u + 3 A v
    symmetric      uᵀ A v = vᵀ A u
    dense          A v equals the product with ``dense``, if given
    split          A v equals that of ``split_matvec``, if given
    parameters     A(θ) v changes with θ, unless ``constant``
    =============  =========================================================================

    ``split_matvec`` is the same operator made from other pieces of the data: averaging mean losses
    of pieces without regard to their sizes breaks that law. Use a small model, in float64 if
    possible.

    Args:
        matvec: ``matvec(params, v)``, a tree like ``params``.
        params: θ.
        key: key of the directions and of the change of θ.
        dense: A(θ) in the order of ``jax.flatten_util.ravel_pytree``; ``Hessian.dense`` makes it.
        split_matvec: the operator on the same data in uneven pieces.
        constant: True for a matrix that is the same everywhere, as for a quadratic loss.
        tolerance: largest relative error allowed; 1e3 machine epsilons of the products when None.

    Returns:
        The relative error of each law; for ``parameters``, the relative change.

    Raises:
        OperatorError: the message names every broken law, its error and the tolerance.
        ValueError: if a product does not have the tree of ``params``.
    """
    check_params(params)
    u, v, change = (normals(k, params) for k in numbered_keys(key, 3))

    def product(direction: Params, operator: Matvec = matvec, at: Params = params) -> Array:
        result = operator(at, direction)
        check_tangent(params, result, "matvec(params, v)")
        return ravel_pytree(result)[0]

    of_u, of_v = product(u), product(v)
    allowed = 1e3 * float(jnp.finfo(of_v.dtype).eps) if tolerance is None else tolerance
    combined = product(jax.tree.map(lambda a, b: 2 * a + 3 * b, u, v))
    flat_u, flat_v = ravel_pytree(u)[0], ravel_pytree(v)[0]
    # uᵀ A v may nearly vanish, so its error is relative to its possible size.
    scale = jnp.linalg.norm(flat_u) * jnp.linalg.norm(of_v)
    errors = {
        "linear": _relative(combined, 2 * of_u + 3 * of_v),
        "symmetric": _over(jnp.abs(flat_u @ of_v - flat_v @ of_u), scale),
    }
    if dense is not None:
        errors["dense"] = _relative(of_v, jnp.matmul(dense, flat_v, precision="highest"))
    if split_matvec is not None:
        errors["split"] = _relative(product(v, split_matvec), of_v)
    broken = [
        f"{law}: relative error {error:.2g}, must be at most {allowed:.2g}"
        for law, error in errors.items()
        if not error <= allowed
    ]
    largest = float(np.max([*errors.values()]))  # NaN if one is
    if not constant:
        moved = jax.tree.map(lambda p, d: p + 0.1 * d, params, change)
        errors["parameters"] = _relative(product(v, at=moved), of_v)
        if not errors["parameters"] > allowed:
            broken.append(
                f"parameters: relative change {errors['parameters']:.2g} with params, must be "
                f"above {allowed:.2g} (or constant=True)"
            )
    if broken:
        raise OperatorError(f"matvec breaks the law {'; '.join(broken)}", largest)
    return errors


def _relative(found: Float[Array, " P"], expected: Float[Array, " P"]) -> float:
    return _over(jnp.linalg.norm(found - expected), jnp.linalg.norm(expected))


def _over(error: Float[Array, ""], scale: Float[Array, ""]) -> float:
    """Error over scale; 0 / 0 is 0, for a matrix may vanish."""
    return 0.0 if error == 0 else float(error / scale)
