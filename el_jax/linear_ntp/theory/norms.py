"""The geometries in which margins are measured: Frobenius, max-entry, spectral and nuclear.

Steepest descent in a norm is expected to maximise the margin in that norm: gradient descent in the
Frobenius norm, sign descent (Adam) in the max norm, spectral descent (Muon) in the spectral norm.
The nuclear norm, the dual of the spectral one, is that of logits whose embeddings are learnt, too.
Functions take NumPy or, to be traced, JAX arrays.
"""

from typing import Any, Literal, NamedTuple, get_args

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Float64

Norm = Literal["frobenius", "max", "spectral", "nuclear"]
NORMS: tuple[Norm, ...] = ("frobenius", "max", "spectral")  # of decoders along a trajectory


_ORDERS: dict[str, Any] = {"spectral": 2, "nuclear": "nuc"}
_DUAL_TO = {"frobenius": "frobenius", "spectral": "nuclear", "nuclear": "spectral"}


def check_norm(norm: str) -> None:
    """Raise if the norm is unknown.

    Raises:
        ValueError: unless ``norm`` is "frobenius", "max", "spectral" or "nuclear".
    """
    if norm not in get_args(Norm):
        raise ValueError(f"norm={norm!r} must be 'frobenius', 'max', 'spectral' or 'nuclear'")


def matrix_norm(w: Float[np.ndarray | Array, "V d"], norm: str) -> Any:
    """Root of the sum of squares, largest absolute entry, largest or sum of singular values."""
    numpy: Any = jnp if isinstance(w, Array) else np
    if norm == "max":
        return numpy.abs(w).max()
    if norm != "frobenius":
        return numpy.linalg.norm(w, _ORDERS[norm])
    # squares below 1e-154 underflow; a power of 2 changes no digit
    _, exponent = numpy.frexp(numpy.abs(w).max())
    return numpy.ldexp(numpy.linalg.norm(numpy.ldexp(w, -exponent)), exponent)


def dual_norm(w: Float64[np.ndarray, "V d"], norm: Norm) -> float:
    """The norm of ⟨W, ·⟩: Frobenius, sum of absolute entries, sum of or largest singular value."""
    if norm == "max":
        return float(np.abs(w).sum())
    return float(matrix_norm(w, _DUAL_TO[norm]))


class LogitMargin(NamedTuple):
    """The spread and the margin of each context's logits.

    Attributes:
        spread: largest difference between two logits in the support, ``[m]``.
        margin: least excess of a logit in it over one off it, ``[m]``.
    """

    spread: Float[np.ndarray | Array, "m"]
    margin: Float[np.ndarray | Array, "m"]


def logit_margin(
    logits: Float[np.ndarray | Array, "V m"], support: Bool[np.ndarray | Array, "V m"]
) -> LogitMargin:
    """Spread over the supports and margin over the rest, in nats."""
    where: Any = jnp.where if isinstance(logits, Array) else np.where
    least = where(support, logits, np.inf).min(axis=0)
    largest = where(support, logits, -np.inf).max(axis=0)
    return LogitMargin(largest - least, least - where(support, -np.inf, logits).max(axis=0))
