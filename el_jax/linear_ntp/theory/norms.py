"""The three geometries in which margins are measured: Frobenius, max-entry and spectral.

Steepest descent in a norm is expected to maximise the margin in that norm: gradient descent in the
Frobenius norm, sign descent (Adam) in the max norm, spectral descent (Muon) in the spectral norm.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal, get_args

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Float64

Norm = Literal["frobenius", "max", "spectral"]
NORMS: tuple[Norm, ...] = get_args(Norm)


_NORMS: dict[str, Callable[[ModuleType, Any], Any]] = {  # given numpy or jax.numpy
    "frobenius": lambda xp, w: xp.linalg.norm(w),
    "max": lambda xp, w: xp.abs(w).max(),
    "spectral": lambda xp, w: xp.linalg.norm(w, 2),
}


def matrix_norm(w: Float64[np.ndarray, "V d"], norm: Norm) -> float:
    """Root of the sum of squares, largest absolute entry, or largest singular value."""
    return float(_NORMS[norm](np, w))


def traced_norm(w: Float[Array, "V d"], norm: str) -> Float[Array, ""]:
    """The norm of :func:`matrix_norm`, to be traced."""
    return _NORMS[norm](jnp, w)


def dual_norm(w: Float64[np.ndarray, "V d"], norm: Norm) -> float:
    """The norm of ⟨W, ·⟩: Frobenius, the sum of absolute entries, or that of singular values."""
    if norm == "max":
        return float(np.abs(w).sum())
    return float(np.linalg.norm(w, "nuc" if norm == "spectral" else None))
