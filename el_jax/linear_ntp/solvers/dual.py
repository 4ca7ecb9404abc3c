"""The cone of dual variables of the max-margin problem, and the logits it constrains.

A decoder with logits L = W H separates at unit margin if every context j has a level c_j with
L[z, j] = c_j on its support and L[v, j] ≤ c_j - 1 off it. Its multipliers are the matrices of

    D = {B [V, m] : columns sum to 0, B ≤ 0 off the support},

and for every norm N with dual N*:  max margin γ = min {N*(B Hᵀ) : B in D, -Σ_off B = 1}. If the
required margins are t_j instead of 1, L[v, j] ≤ c_j - t_j and -Σ_off t_j B_j = 1.

Level-variable form of NTP-SVM (Thrampoulidis 2024, arXiv 2402.18551, eq. 6 and Def. 3); it has V m
dual variables for any d, and no pairs of tokens.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Float64

from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.linear_ntp.theory.certificates import (
    MARGIN_TOLERANCE,
    SPREAD_TOLERANCE,
    margin_bound,
    separation,
)
from el_jax.linear_ntp.theory.norms import Norm, dual_norm, logit_margin, matrix_norm
from el_jax.process.double_precision import float64


class MarginBracket(NamedTuple):
    """A decoder and a dual matrix, with the bounds they put on the max margin γ.

    Attributes:
        w: W in F⊥, ``[V, d]``.
        dual: B in D, ``[V, m]``.
        mass: -Σ_off t_j B_j, the sum of the multipliers times the required margins.
        lower: margin of W over its norm; 0 unless plain arithmetic shows that W separates.
        upper: dual norm of B Hᵀ over its mass.
        iterations: iterations spent so far.
    """

    w: Float64[np.ndarray, "V d"]
    dual: Float64[np.ndarray, "V m"]
    mass: float
    lower: float
    upper: float
    iterations: int

    @property
    def gap(self) -> float:
        """1 - lower / upper, the relative uncertainty about γ."""
        return 1 - self.lower / self.upper if self.upper > 0 else 0.0


def bracket(
    problem: MarginProblem,
    w: Float64[np.ndarray, "V d"],
    dual: Float64[np.ndarray, "V m"],
    norm: Norm,
    iterations: int,
) -> MarginBracket:
    """The bounds that W in F⊥ and B in D put on γ, up to rounding."""
    embeddings, support = problem.embeddings, problem.support
    lower, mass = 0.0, float(-(dual * problem.margins)[~support].sum())
    if separation(w, embeddings, support).relative <= SPREAD_TOLERANCE:
        margins = logit_margin(w @ embeddings, support).margin / problem.margins
        lower = float(margins.min() / matrix_norm(w, norm))
    upper = dual_norm(dual @ embeddings.T, norm) / mass if mass > 0 else np.inf
    return MarginBracket(w, dual, mass, lower, upper, iterations)


def shows_inseparable(problem: MarginProblem, dual: Float64[np.ndarray, "V m"]) -> bool:
    """True if B is valid as a certificate, rounding errors included."""
    return margin_bound(dual, problem.embeddings, problem.support).relative <= MARGIN_TOLERANCE


def tighter(old: MarginBracket | None, new: MarginBracket) -> MarginBracket:
    """The better decoder and the better dual matrix of two brackets of one problem."""
    if old is None:
        return new
    # on a tie of upper bounds take the later one, which belongs to the later decoder
    if old.lower > new.lower:
        new = new._replace(w=old.w, lower=old.lower)
    if old.upper * (1 + 1e-12) < new.upper:
        new = new._replace(dual=old.dual, mass=old.mass, upper=old.upper)
    return new


def project_on_cone(
    matrix: Float[Array, "V m"], support: Bool[Array, "V m"], level: Float[Array, "1 m"]
) -> tuple[Float[Array, "V m"], Float[Array, "1 m"]]:
    """Orthogonal projection of each column onto D, by Newton's method on one number a column.

    The projection is y - τ on the support and min(y - τ, 0) off it, with the τ that makes the sum
    0. That sum is concave and decreasing in τ, so from the second step on Newton comes from the
    right, drops tokens at every step and ends, exactly, when it drops none.

    Args:
        matrix: the matrix to project.
        support: S.
        level: a first guess of τ; any will do.

    Returns:
        The projection, and τ.
    """

    def newton(level: Array) -> tuple[Array, Array]:
        kept = support | (matrix < level)
        count = kept.sum(axis=0, keepdims=True)
        return jnp.where(kept, matrix, 0).sum(axis=0, keepdims=True) / count, count

    def lower(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        level, count, _ = state
        next_level, next_count = newton(level)
        dropped = next_count < count  # strictly, so that rounding at a tie cannot cycle
        level = jnp.where(dropped, next_level, level)
        return level, jnp.where(dropped, next_count, count), dropped.any()

    level, count = newton(level)
    start = level, jnp.full_like(count, matrix.shape[0] + 1), jnp.array(True)
    level, _, _ = jax.lax.while_loop(lambda state: state[2], lower, start)
    return jnp.where(support, matrix - level, jnp.minimum(matrix - level, 0)), level


def in_cone(
    matrix: Float64[np.ndarray, "V m"], support: Bool[np.ndarray, "V m"]
) -> Float64[np.ndarray, "V m"]:
    """The projection on D of one NumPy matrix, in float64."""
    with float64():
        level = matrix.mean(axis=0, keepdims=True)
        return np.asarray(_project_on_cone(matrix, support, level)[0])


_project_on_cone = jax.jit(project_on_cone)
