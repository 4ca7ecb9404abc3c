"""Eigenvalues by the Lanczos process: ends of a spectrum, and its density."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.process.errors import require
from el_jax.types import Key, Params

Product = Callable[[Float[Array, " P"]], Float[Array, " P"]]


class Eigenpairs(NamedTuple):
    """Approximate eigenpairs of a matrix A, with residuals.

    Attributes:
        values: λ, in the order requested, ``[num]``.
        residuals: ‖A v - λ v‖ for unit v; an eigenvalue lies within that distance, ``[num]``.
        vectors: v, a tree like the parameters with leaves ``[num, ...]``, of norm 1 together.
    """

    values: Float[Array, " num"]
    residuals: Float[Array, " num"]
    vectors: Params


class SpectralDensity(NamedTuple):
    """The distribution of the eigenvalues of A, estimated by random probes.

    Attributes:
        nodes: eigenvalues of the tridiagonal matrix of each probe, ``[probes, steps]``.
        weights: their shares, summing to 1 for each probe, ``[probes, steps]``.

    Σ weights f(nodes) estimates Tr f(A) / P; for polynomials f of degree below twice the steps only
    the probe causes error.
    """

    nodes: Float[Array, "probes steps"]
    weights: Float[Array, "probes steps"]


def extreme_eigenpairs(
    product: Product, start: Float[Array, " P"], key: Key, num: int, num_steps: int, end: str
) -> Eigenpairs:
    """The ``num`` pairs at one end of the spectrum of a matrix; the vectors are ``[num, P]``.

    Args:
        product: the product with the matrix.
        start: the starting vector.
        key: key of random vectors, used when the Krylov space of ``start`` is exhausted.
        num: pairs.
        num_steps: products; that many vectors are stored.
        end: "largest" or "smallest".
    """
    diagonal, beside, basis = _lanczos(product, start, key, num_steps)
    values, mixtures = jnp.linalg.eigh(_tridiagonal(diagonal, beside))
    order = jnp.arange(num) if end == "smallest" else num_steps - 1 - jnp.arange(num)
    vectors = jnp.matmul(mixtures[:, order].T, basis, precision="highest")
    vectors = vectors / jnp.linalg.norm(vectors, axis=1, keepdims=True)
    missed = jax.lax.map(product, vectors) - values[order, None] * vectors
    return Eigenpairs(values[order], jnp.linalg.norm(missed, axis=1), vectors)


def quadrature(
    product: Product, start: Float[Array, " P"], key: Key, num_steps: int
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Nodes and weights of one starting vector; arguments as in :func:`extreme_eigenpairs`."""
    diagonal, beside, _ = _lanczos(product, start, key, num_steps)
    nodes, vectors = jnp.linalg.eigh(_tridiagonal(diagonal, beside))
    return nodes, jnp.square(vectors[0])


def smoothed(
    density: SpectralDensity, at: Float[Array, " points"], width: float
) -> Float[Array, " points"]:
    """The density at given eigenvalues, with each node smoothed to a normal curve.

    Args:
        density: density of any number of probes.
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


def _lanczos(
    product: Product, start: Float[Array, " P"], key: Key, num_steps: int
) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, "k P"]]:
    """The tridiagonal matrix of A on the Krylov space of ``start``, and its basis.

    Each new vector is orthogonalised twice against all before it. If the space is exhausted, a
    random vector orthogonal to it starts the next one with a 0 beside the diagonal, so the matrix
    remains that of A on a larger space and has no spurious zeros.
    """
    tiny = 10 * jnp.finfo(start.dtype).eps
    keys = jax.random.split(key, num_steps)

    def orthogonal(v: Float[Array, " P"], basis: Float[Array, "k P"]) -> Float[Array, " P"]:
        for _ in range(2):
            along = jnp.matmul(basis, v, precision="highest")
            v = v - jnp.matmul(along, basis, precision="highest")
        return v

    def step(carry: tuple[Array, Array], index: Array) -> tuple[tuple[Array, Array], tuple]:
        basis, largest = carry
        q = basis[index]
        product_of_q = product(q)
        largest = jnp.maximum(largest, jnp.linalg.norm(product_of_q))
        rest = orthogonal(product_of_q, basis)
        length = jnp.linalg.norm(rest)
        exhausted = length <= tiny * largest
        random = jax.random.normal(keys[index], start.shape, start.dtype)
        rest = jnp.where(exhausted, orthogonal(random, basis), rest)
        # The last vector of a full basis is dropped: no dimension is left for it.
        unit = rest / jnp.maximum(jnp.linalg.norm(rest), jnp.finfo(start.dtype).tiny)
        basis = basis.at[index + 1].set(unit, mode="drop")
        return (basis, largest), (jnp.vdot(q, product_of_q), jnp.where(exhausted, 0, length))

    nothing = jnp.zeros((num_steps, start.size), start.dtype)
    carry = nothing.at[0].set(start / jnp.linalg.norm(start)), jnp.zeros((), start.dtype)
    (basis, _), (diagonal, beside) = jax.lax.scan(step, carry, jnp.arange(num_steps))
    return diagonal, beside, basis


def _tridiagonal(diagonal: Float[Array, " k"], beside: Float[Array, " k"]) -> Float[Array, "k k"]:
    return jnp.diag(diagonal) + jnp.diag(beside[:-1], 1) + jnp.diag(beside[:-1], -1)
