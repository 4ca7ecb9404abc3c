"""Eigenvalues of the Hessian by the Lanczos process: the ends of the spectrum, and its density."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from el_jax.curvature.arguments import check_count, check_finite, check_params, check_tangent
from el_jax.curvature.products import Loss, hvp
from el_jax.curvature.sampling import map_in_chunks, numbered_keys, signs
from el_jax.runtime.errors import require
from el_jax.types import Key, Params

Product = Callable[[Float[Array, " P"]], Float[Array, " P"]]


class Eigenpairs(NamedTuple):
    """Approximate eigenvalues of H, with what they miss.

    Attributes:
        values: λ, in the order asked for, ``[num]``.
        residuals: ‖H v - λ v‖ for unit v; an eigenvalue lies within that distance, ``[num]``.
        vectors: v, a tree like the parameters with leaves ``[num, ...]``, of norm 1 together.
    """

    values: Float[Array, " num"]
    residuals: Float[Array, " num"]
    vectors: Params


class SpectralDensity(NamedTuple):
    """The eigenvalues of H as a distribution, seen by random probes.

    Attributes:
        nodes: eigenvalues of the tridiagonal matrix of each probe, ``[probes, steps]``.
        weights: their shares, summing to 1 for each probe, ``[probes, steps]``.

    Σ weights f(nodes) is an estimate of Tr f(H) / P, exact for polynomials f of a degree below
    twice the steps, but for the probe.
    """

    nodes: Float[Array, "probes steps"]
    weights: Float[Array, "probes steps"]


def top_eigenvalues(
    loss: Loss,
    params: Params,
    key: Key,
    num: int,
    *,
    num_steps: int | None = None,
    end: str = "largest",
    start: Params | None = None,
) -> Eigenpairs:
    """Eigenpairs at one end of the spectrum of H (Lanczos 1950, full reorthogonalisation).

    Args:
        loss: a twice differentiable function of the parameters.
        params: θ.
        key: of the normal starting vector.
        num: eigenvalues asked for.
        num_steps: products H v; max(2 num, 20) + 20 when None, and at
            most P. Memory is as many trees like ``params``.
        end: "largest" for the most positive first, "smallest" for the most negative first.
        start: the starting vector, a tree like ``params``; drawn when None.

    Returns:
        The pairs. Residuals are computed from products of their own, ``num`` more, so they hold
        whatever the process did.

    Raises:
        ValueError: if ``num`` is below 1 or above the steps, or the result is not finite.
    """
    product, flat, unravel = _flattened(loss, params)
    steps = min(flat.size, max(2 * num, 20) + 20 if num_steps is None else num_steps)
    require("num", num, 1 <= num <= steps, f"from 1 to {steps}, the number of steps")
    require("end", end, end in ("largest", "smallest"), "'largest' or 'smallest'")
    if start is None:
        first = jax.random.normal(key, flat.shape, flat.dtype)
    else:
        check_tangent(params, start, "start")
        first = ravel_pytree(start)[0]
    diagonal, beside, basis = _lanczos(product, first, key, steps, window=steps)
    values, mixtures = jnp.linalg.eigh(_tridiagonal(diagonal, beside))
    order = jnp.arange(num) if end == "smallest" else steps - 1 - jnp.arange(num)
    vectors = jnp.matmul(mixtures[:, order].T, basis, precision="highest")
    vectors = vectors / jnp.linalg.norm(vectors, axis=1, keepdims=True)
    missed = jax.lax.map(product, vectors) - values[order, None] * vectors
    residuals = jnp.linalg.norm(missed, axis=1)
    check_finite("eigenvalues", values[order], "loss(params)", lambda: loss(params))
    return Eigenpairs(values[order], residuals, jax.vmap(unravel)(vectors))


def spectral_density(
    loss: Loss,
    params: Params,
    key: Key,
    *,
    num_probes: int = 10,
    num_steps: int = 80,
    chunk: int = 1,
    reorthogonalise: bool = True,
) -> SpectralDensity:
    """The density of the eigenvalues of H by stochastic Lanczos quadrature.

    Ubaru, Chen, Saad 2017; as used on networks by Ghorbani, Krishnan, Xiao 2019 (arXiv
    1901.10159), with probes of random signs.

    Args:
        loss: a twice differentiable function of the parameters.
        params: θ.
        key: of the probes.
        num_probes: starting vectors.
        num_steps: products H v for each probe, at most P of them.
        chunk: probes at once, the factor by which memory grows.
        reorthogonalise: keep ``num_steps`` trees like ``params`` for each probe, so that no
            eigenvalue is found twice. Without it memory does not grow with the steps; copies of
            the outer eigenvalues then share their weight, which leaves smoothed densities alike.

    Raises:
        ValueError: if a number is below 1, or the result is not finite.
    """
    check_count("num_probes", num_probes)
    check_count("num_steps", num_steps)
    product, flat, _ = _flattened(loss, params)
    steps = min(num_steps, flat.size)

    def one_probe(key: Key) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        start = ravel_pytree(signs(key, params))[0]
        window = steps if reorthogonalise else 2
        diagonal, beside, _ = _lanczos(product, start, key, steps, window=window)
        nodes, vectors = jnp.linalg.eigh(_tridiagonal(diagonal, beside))
        return nodes, jnp.square(vectors[0])

    density = SpectralDensity(*map_in_chunks(one_probe, numbered_keys(key, num_probes), chunk))
    check_finite("eigenvalues", density.nodes, "loss(params)", lambda: loss(params))
    return density


def smoothed(
    density: SpectralDensity, at: Float[Array, " points"], width: float
) -> Float[Array, " points"]:
    """The density at given eigenvalues, each node widened to a normal curve.

    Args:
        density: of any number of probes.
        at: where to evaluate.
        width: standard deviation of the curves, in units of eigenvalues.

    Raises:
        ValueError: if the width is not positive.
    """
    require("width", width, width > 0, "positive")
    off = (at[:, None] - density.nodes.ravel()[None]) / width
    curves = jnp.exp(-jnp.square(off) / 2) / (width * jnp.sqrt(2 * jnp.pi))
    shares = density.weights.ravel() / density.nodes.shape[0]
    return (curves * shares[None]).sum(1)


def _flattened(
    loss: Loss, params: Params
) -> tuple[Product, Float[Array, " P"], Callable[[Array], Params]]:
    """The product with H on flat vectors, flat parameters, and the way back to trees."""
    check_params(params)
    flat, unravel = ravel_pytree(params)
    return lambda v: ravel_pytree(hvp(loss, params, unravel(v)))[0], flat, unravel


def _lanczos(
    product: Product, start: Float[Array, " P"], key: Key, num_steps: int, *, window: int
) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, "w P"]]:
    """The tridiagonal matrix of H on the space that H and ``start`` span, and its basis.

    Each new vector is made orthogonal, twice, to the last ``window`` ones. Where the space is
    exhausted, a random vector orthogonal to it opens the next one with a 0 beside the diagonal,
    so that the matrix stays that of H on a larger space and holds no false zeros. It is 0 where
    ``start`` is: of a block of H it stays in the block.
    """
    tiny = 10 * jnp.finfo(start.dtype).eps
    keys = jax.random.split(key, num_steps)

    def orthogonal(v: Float[Array, " P"], basis: Float[Array, "w P"]) -> Float[Array, " P"]:
        for _ in range(2):
            along = jnp.matmul(basis, v, precision="highest")
            v = v - jnp.matmul(along, basis, precision="highest")
        return v

    def random(key: Key) -> Float[Array, " P"]:
        return jnp.where(start != 0, jax.random.normal(key, start.shape, start.dtype), 0)

    def step(carry: tuple[Array, Array], index: Array) -> tuple[tuple[Array, Array], tuple]:
        basis, largest = carry
        q = basis[index % window]
        product_of_q = product(q)
        largest = jnp.maximum(largest, jnp.linalg.norm(product_of_q))
        rest = orthogonal(product_of_q, basis)
        length = jnp.linalg.norm(rest)
        exhausted = length <= tiny * largest
        rest = jnp.where(exhausted, orthogonal(random(keys[index]), basis), rest)
        # The last vector of a full basis is not kept: nothing of the space is left for it.
        unit = rest / jnp.maximum(jnp.linalg.norm(rest), jnp.finfo(start.dtype).tiny)
        slot = jnp.where(index + 1 == num_steps, window, (index + 1) % window)
        basis = basis.at[slot].set(unit, mode="drop")
        return (basis, largest), (jnp.vdot(q, product_of_q), jnp.where(exhausted, 0, length))

    first = jnp.zeros((window, start.size), start.dtype).at[0].set(start / jnp.linalg.norm(start))
    carry = first, jnp.zeros((), start.dtype)
    (basis, _), (diagonal, beside) = jax.lax.scan(step, carry, jnp.arange(num_steps))
    return diagonal, beside, basis


def _tridiagonal(diagonal: Float[Array, " k"], beside: Float[Array, " k"]) -> Float[Array, "k k"]:
    return jnp.diag(diagonal) + jnp.diag(beside[:-1], 1) + jnp.diag(beside[:-1], -1)
