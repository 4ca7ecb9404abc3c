"""The three geometries in which margins are measured: Frobenius, max-entry and spectral.

Steepest descent in a norm is expected to maximise the margin in that norm: gradient descent in the
Frobenius norm, sign descent (Adam) in the max norm, spectral descent (Muon) in the spectral norm.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from jaxtyping import Float64

Norm = Literal["frobenius", "max", "spectral"]
Measure = Callable[[np.ndarray], float]

_NORMS: dict[str, Measure] = {
    "frobenius": lambda w: float(np.linalg.norm(w)),
    "max": lambda w: float(np.abs(w).max()),
    "spectral": lambda w: float(np.linalg.norm(w, 2)),
}
_DUAL_NORMS: dict[str, Measure] = {
    "frobenius": lambda w: float(np.linalg.norm(w)),
    "max": lambda w: float(np.abs(w).sum()),
    "spectral": lambda w: float(np.linalg.norm(w, "nuc")),
}


def matrix_norm(w: Float64[np.ndarray, "V d"], norm: Norm) -> float:
    """Root of the sum of squares, largest absolute entry, or largest singular value."""
    return _NORMS[norm](w)


def dual_norm(w: Float64[np.ndarray, "V d"], norm: Norm) -> float:
    """The norm of ⟨W, ·⟩: Frobenius, the sum of absolute entries, or that of singular values."""
    return _DUAL_NORMS[norm](w)
