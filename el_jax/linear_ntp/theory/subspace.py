"""The data subspace F, the projections onto it and its complement, and the finite component W*.

F = span{(e_z - e_z') h_jᵀ : z, z' in S_j} is where the data require finite log ratios
(Thrampoulidis 2024, arXiv 2402.18551, section 2). With Π_j "restrict to S_j and subtract the
in-support mean" and A(W)_j = Π_j W h_j, F is the range of Aᵀ(B) = (Π B) Hᵀ, and its projection is
Aᵀ (A Aᵀ)⁺ A, where A Aᵀ(B) = Π(Π(B) K) needs only K = Hᵀ H.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.sparse.linalg import cg
from jaxtyping import Bool, Float, Float64
from scipy.sparse.linalg import LinearOperator, eigsh, lsqr

from el_jax.linear_ntp.problems.problem import NTPProblem
from el_jax.process.double_precision import float64

Matrix = TypeVar("Matrix", np.ndarray, Array)

# Limits on the multiplications of a dense factorisation and on the numbers in its basis; past
# either, projections iterate.
_DENSE_WORK, _DENSE_SIZE = 2e10, 5e7
_TOLERANCE, _MAX_STEPS = 1e-14, 2000


@dataclass(frozen=True, eq=False)
class DataSubspace:
    """F of one problem; see :func:`data_subspace`.

    Attributes:
        problem: the problem.
        basis: orthonormal basis of F, one column per element, rows in the order of the raveled W.
            None if it would be too large; projections then use conjugate gradients.
    """

    problem: NTPProblem
    basis: Float64[np.ndarray, "Vd dim"] | None

    @property
    def dim(self) -> int | None:
        """The dimension of F; None if there is no basis to count."""
        return None if self.basis is None else self.basis.shape[1]

    def project(self, W: Float[np.ndarray | Array, "V d"]) -> Float64[np.ndarray, "V d"]:
        """P_F(W)."""
        with float64():
            p = self.problem
            return np.asarray(_project(p.decoder(W), self.basis, p.embeddings, p.support))


def data_subspace(problem: NTPProblem, *, dense: bool | None = None) -> DataSubspace:
    """The subspace F, with an orthonormal basis if affordable.

    Args:
        problem: its supports and embeddings decide F; probabilities do not matter.
        dense: whether to factorise; None decides by size. It stores and decomposes Σ_j (S_j - 1)
            columns of V d numbers.
    """
    factorised = is_dense(problem.embeddings, problem.support, dense)
    return DataSubspace(problem, _factor(problem).left if factorised else None)


def finite_component(
    problem: NTPProblem, *, dense: bool | None = None
) -> Float64[np.ndarray, "V d"]:
    """W*, the W in F with the in-support log ratios of the data (Definition 1).

    If no W has them (the data are incompatible), W* is the least-squares solution in F, with equal
    weight for each context.

    Args:
        problem: its π does not matter.
        dense: as in :func:`data_subspace`; without a factorisation, LSQR to 1e-14.
    """
    shape = (problem.vocab_size, problem.dim)
    support, log_probs = problem.support, problem.log_probs
    if is_dense(problem.embeddings, problem.support, dense):
        left, spectrum, right = _factor(problem)
        contrasts, context = face_contrasts(support)
        log_ratios = np.sum(contrasts * log_probs[:, context], axis=0)
        return (left @ (right @ log_ratios / spectrum)).reshape(shape)
    embeddings, targets = problem.embeddings, centred(log_probs, support)
    a = LinearOperator(
        (targets.size, shape[0] * shape[1]),
        matvec=lambda w: centred(w.reshape(shape) @ embeddings, support).ravel(),
        rmatvec=lambda b: (centred(b.reshape(targets.shape), support) @ embeddings.T).ravel(),
    )
    solution = lsqr(a, targets.ravel(), atol=1e-14, btol=1e-14, iter_lim=_MAX_STEPS)[0]
    return solution.reshape(shape)


def top_curvature(problem: NTPProblem) -> float:
    """λ_F, the largest eigenvalue of the Hessian of CE_F at a W with the data's ratios.

    The Hessian is Σ_j π_j (diag p_j - p_j p_jᵀ) ⊗ h_j h_jᵀ and vanishes on F⊥. Steps above
    2 / λ_F overshoot inside F however small the leak.
    """
    if (problem.support.sum(axis=0) == 1).all():
        return 0.0
    H, probs, weights = problem.embeddings, problem.next_token_probs, problem.context_probs
    size = problem.vocab_size * problem.dim

    def product(w: np.ndarray) -> np.ndarray:
        change = w.reshape(problem.vocab_size, problem.dim) @ H
        spread = probs * (change - (probs * change).sum(axis=0))
        return ((weights * spread) @ H.T).ravel()

    start = np.random.default_rng(0).standard_normal(size)
    if not product(start).any():  # zero embeddings wherever several tokens follow
        return 0.0
    hessian = LinearOperator((size, size), matvec=product, dtype=np.float64)
    return float(eigsh(hessian, k=1, v0=start, return_eigenvectors=False)[0])


def centred(values: Float[Matrix, "V m"], face: Bool[Matrix, "V m"]) -> Float[Matrix, "V m"]:
    """Π: orthogonal projection of each column onto {0 off the face, sum 0}; traced if in JAX."""
    where: Any = jnp.where if isinstance(values, Array) else np.where
    inside = where(face, values, 0.0)
    count = face.sum(axis=0, keepdims=True).clip(1)
    return where(face, inside - inside.sum(axis=0, keepdims=True) / count, 0.0)


def project(
    W: Float[Array, "V d"],
    basis: Float[Array, "Vd dim"] | None,
    H: Float[Array, "d m"],
    support: Bool[Array, "V m"],
) -> Float[Array, "V d"]:
    """P_F(W) on plain arrays, to be traced; conjugate gradients where there is no basis."""
    if basis is not None:
        return (basis @ (basis.T @ W.ravel())).reshape(W.shape)
    # F does not depend on the lengths of embeddings; at length 1 products stay in range
    H, size = _unit(H, 0), jnp.abs(W).max()
    gram, wanted = H.T @ H, centred(_unit(W, None) @ H, support)
    multipliers, _ = cg(
        lambda b: centred(centred(b, support) @ gram, support),
        wanted,
        tol=_TOLERANCE,
        maxiter=_MAX_STEPS,
    )
    return size * (centred(multipliers, support) @ H.T)


def _unit(matrix: Float[Array, "n k"], axis: int | None) -> Float[Array, "n k"]:
    """The matrix over the largest entry of each column, or of all; zeros stay."""
    largest = jnp.abs(matrix).max(axis, keepdims=True)
    return matrix / jnp.where(largest > 0, largest, 1)


_project = jax.jit(project)


def is_dense(
    embeddings: Float64[np.ndarray, "d m"],
    face: Bool[np.ndarray, "V m"],
    dense: bool | None = None,
) -> bool:
    """True if a face is small enough to be factorised; ``dense`` itself where it is given."""
    if dense is not None:
        return dense
    columns = int((face.sum(axis=0) - 1).sum())
    rows = len(face) * len(embeddings)
    return columns * rows <= _DENSE_SIZE and columns * rows * min(columns, rows) <= _DENSE_WORK


class FaceFactor(NamedTuple):
    """Singular values and vectors of the columns u h_jᵀ, u a contrast of face j, down to rounding.

    Attributes:
        left: singular vectors ``[V d, rank]``.
        spectrum: singular values, descending, ``[rank]``.
        right: singular vectors ``[rank, contrasts]``.
    """

    left: Float64[np.ndarray, "Vd rank"]
    spectrum: Float64[np.ndarray, "rank"]
    right: Float64[np.ndarray, "rank contrasts"]


def face_factor(
    embeddings: Float64[np.ndarray, "d m"], face: Bool[np.ndarray, "V m"]
) -> FaceFactor:
    """Decompose W -> Π_face(W H), whose face has a token for every context."""
    contrasts, context = face_contrasts(face)
    outer = contrasts[:, None, :] * embeddings[None][:, :, context]
    columns = outer.reshape(len(face) * len(embeddings), len(context))
    if columns.size == 0:  # every face is one token
        return FaceFactor(columns, np.zeros(0), np.zeros((0, 0)))
    return FaceFactor(*decomposed(columns))


def decomposed(
    matrix: Float64[np.ndarray, "n k"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The singular value decomposition, without the singular values that are rounding."""
    left, spectrum, right = np.linalg.svd(matrix, full_matrices=False)
    rank = int((spectrum > np.finfo(float).eps * max(matrix.shape) * spectrum[0]).sum())
    return left[:, :rank], spectrum[:rank], right[:rank]


@lru_cache(maxsize=4)  # problems are immutable: F and W* share one factorisation
def _factor(problem: NTPProblem) -> FaceFactor:
    return face_factor(problem.embeddings, problem.support)


def face_contrasts(support: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis of the zero-sum vectors on each S_j, and the context of each vector.

    Helmert contrasts: vector k of a context weighs its first k tokens against the next one.

    Returns:
        Contrasts ``[V, Σ_j (S_j - 1)]`` and contexts ``[Σ_j (S_j - 1)]``.
    """
    place = np.where(support, np.cumsum(support, axis=0) - 1, -1)
    context = np.repeat(np.arange(support.shape[1]), support.sum(axis=0) - 1)
    order = np.concatenate([np.arange(1, size) for size in support.sum(axis=0)])
    column = place[:, context]
    weights = np.where(column == order, -order, (column >= 0) & (column < order))
    return weights / np.sqrt(order * (order + 1)), context
