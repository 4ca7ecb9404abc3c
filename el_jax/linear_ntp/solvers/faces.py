"""Linear algebra on faces of the dual cone: the decoder and the B that known zeros determine.

A face of D is the set of B in D that vanish on given entries. Without the sign constraints it is
the range of Π_face, and W -> Π_face(W H) is the only operator in this file. On the face of the
supports it makes in-support logits equal and finds W*; with the binding constraints added it finds
the max-margin matrix; its residual, which no decoder reaches, is a certificate.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Float64

from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.linear_ntp.theory.exact import exact_combination
from el_jax.linear_ntp.theory.norms import logit_margin
from el_jax.linear_ntp.theory.subspace import centred, face_contrasts, face_factor, is_dense
from el_jax.process.double_precision import float64

# Rounding level of the residual, and of the slope relative to ‖H‖ ‖residual‖.
_FLOOR, _FLAT = 1e-14, 3e-15
_EPS = 1e-16
_MAX_ITERATIONS = 5000
_SIGN_ROUNDS, _REFINEMENTS = 6, 3
_ILL_CONDITIONED = 1e3
_NEGLIGIBLE = 1e-9  # share of the mass off supports up to which an entry is rounding
_EQUAL = 1e-11  # spread over the largest entry of W at which logits count as equal


_CGState = tuple[Array, Array, Array, Array, Array, Array]


class FaceSolution(NamedTuple):
    """Least squares on a face of D.

    Attributes:
        combination: the B with zero column sums, 0 off the face, whose decoder B Hᵀ is the smallest
            among those with logits nearest the target, ``[V, m]``.
        residual: target minus those logits, both projected on the face, ``[V, m]``. It is the part
            of the target that no decoder reaches: residual Hᵀ = 0.
    """

    combination: Float64[np.ndarray, "V m"]
    residual: Float64[np.ndarray, "V m"]


@jax.jit
def _least_squares(
    target: Float[Array, "V m"],
    embeddings: Float[Array, "d m"],
    face: Bool[Array, "V m"],
) -> tuple[Array, Array]:
    """Least squares min_W ‖Π_face(W H - target)‖ from W = 0, by conjugate gradients (CGLS).

    Solved as least squares, since dependent constraints and rounding make the equations
    inconsistent in their last digits, on which conjugate gradients for equations diverge.
    """
    # twice, so that the sums vanish to the rounding of the residual, not of the target
    start = centred(centred(target, face), face)
    rounding = jnp.sum(jnp.where(face, target, 0.0) ** 2) * _EPS**2
    floor = jnp.maximum(jnp.sum(start**2) * _FLOOR**2, rounding)
    reach = jnp.sum(embeddings**2) * _FLAT**2

    def unfinished(state: _CGState) -> Array:
        _, residual, _, _, slope, iteration = state
        left = jnp.sum(residual**2)
        return (iteration < _MAX_ITERATIONS) & (left > floor) & (slope > reach * left)

    def iterate(state: _CGState) -> _CGState:
        combination, residual, along, along_w, slope, iteration = state
        moved = centred(along_w @ embeddings, face)
        size = jnp.sum(moved**2)  # 0 where rounding is all that is left of the slope
        length = jnp.where(size > 0, slope / jnp.where(size > 0, size, 1.0), 0.0)
        combination, residual = combination + length * along, residual - length * moved
        gradient = residual @ embeddings.T
        next_slope = jnp.where(size > 0, jnp.sum(gradient**2), 0.0)
        ratio = next_slope / slope
        along, along_w = residual + ratio * along, gradient + ratio * along_w
        return combination, residual, along, along_w, next_slope, iteration + 1

    gradient = start @ embeddings.T
    state = jnp.zeros_like(start), start, start, gradient, jnp.sum(gradient**2), jnp.array(0)
    return jax.lax.while_loop(unfinished, iterate, state)[:2]


def solve_on_face(
    embeddings: Float64[np.ndarray, "d m"],
    target: Float64[np.ndarray, "V m"],
    face: Bool[np.ndarray, "V m"],
) -> FaceSolution:
    """Least squares min_W ‖Π_face(W H - target)‖, refined once; NumPy in, NumPy out."""
    with float64():
        first, _ = _least_squares(target, embeddings, face)
        left = target - np.asarray(first) @ embeddings.T @ embeddings
        second, residual = _least_squares(left, embeddings, face)
        return FaceSolution(np.asarray(first + second), np.asarray(residual))


def equalised(problem: MarginProblem, w: Float64[np.ndarray, "V d"]) -> Float64[np.ndarray, "V d"]:
    """The W nearest ``w`` whose logits are equal inside every support: its projection on F⊥.

    Uses conjugate gradients or, if embeddings are so nearly dependent that these are slow or fail,
    a factorisation, if one is affordable.
    """
    embeddings, support = problem.embeddings, problem.support
    if problem.condition > _ILL_CONDITIONED and is_dense(embeddings, support):
        return _without_face(problem, w)
    change = solve_on_face(embeddings, w @ embeddings, support)
    near = w - change.combination @ embeddings.T
    spread = logit_margin(near @ embeddings, support).spread.max()
    if spread <= _EQUAL * np.abs(w).max() or not is_dense(embeddings, support):
        return near
    exact = _without_face(problem, w)
    return exact if logit_margin(exact @ embeddings, support).spread.max() < spread else near


def annihilated(
    problem: MarginProblem, dual: Float64[np.ndarray, "V m"]
) -> Float64[np.ndarray, "V m"] | None:
    """A B in D near ``dual`` with B Hᵀ = 0, not 0 off the supports, or None if none was found.

    Project onto {B Hᵀ = 0} on the face of ``dual``, remove entries with a wrong sign from the face,
    and repeat.
    """
    support = problem.support
    for _ in range(_SIGN_ROUNDS):
        outside_mass = -dual[~support].sum()
        if not outside_mass > 0:
            return None
        dual = dual / outside_mass
        face = support | (dual < 0)
        dual = solve_on_face(problem.embeddings, dual, face).residual
        if (dual[~support] <= 0).all():
            return dual if dual[~support].sum() < -1e-6 else None
        dual = np.where(support, dual, np.minimum(dual, 0.0))
    return None


def refined(
    problem: MarginProblem, dual: Float64[np.ndarray, "V m"]
) -> tuple[Float64[np.ndarray, "V m"], Float64[np.ndarray, "V m"]]:
    """A B near ``dual`` with B Hᵀ = 0 and columns of sum 0, as a sum of two matrices.

    Iterative refinement with residuals in rational arithmetic: least squares on the face of the
    entries of ``dual`` that are not negligible. It fails if that face has no such matrix, and may
    change signs off the supports, so the caller must verify.
    """
    embeddings, support = problem.embeddings, problem.support
    binding = ~support & (dual < _NEGLIGIBLE * dual[~support].sum())
    dual, face = np.where(support | binding, dual, 0.0), support | binding
    factor, (contrasts, context) = face_factor(embeddings, face), face_contrasts(face)
    rest = np.zeros_like(dual)
    for _ in range(_REFINEMENTS):
        sums = exact_combination(dual, rest, embeddings).sums
        rest = rest - np.where(support, sums / support.sum(axis=0), 0.0)
        left = exact_combination(dual, rest, embeddings).product
        weights = factor.right.T @ ((factor.left.T @ left.ravel()) / factor.spectrum)
        np.subtract.at(rest.T, context, (contrasts * weights).T)
    return dual, rest


def _without_face(problem: MarginProblem, w: np.ndarray) -> np.ndarray:
    basis = problem.face_basis
    for _ in range(2):  # the second pass removes the rounding of the first
        w = w - (basis @ (basis.T @ w.ravel())).reshape(w.shape)
    return w
