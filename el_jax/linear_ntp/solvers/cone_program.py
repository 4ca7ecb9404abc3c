"""The max-margin problem in the spectral or nuclear norm as a cone program, solved by Clarabel.

Maximise τ such that L = c on the supports and L <= c - τ t off them, for L = W H, levels c and
required margins t, and such that [[P, W], [Wᵀ, Q]] is positive semidefinite. With P and Q the
identity, σ_max(W) <= 1; with P and Q unknown and tr P + tr Q = 2, the nuclear norm is at most 1.
The unknowns are M = W U Σ, where H = U Σ R and the rows of R are orthonormal, so a common mean of
the embeddings does not change the constraints on L. If the embeddings are nearly dependent, small
rounding in L = c is large in W; a basis of F⊥ then replaces L = c.

Goulart and Chen 2024, "Clarabel: An interior-point solver for conic programs with quadratic
objectives" (arXiv 2405.12762).
"""

from collections.abc import Iterator
from typing import Any, Literal

import clarabel
import numpy as np
from jaxtyping import Bool, Float64, Int
from scipy.linalg import null_space
from scipy.sparse import (
    block_array,
    csc_matrix,
    csr_matrix,
    eye_array,
    hstack,
    kron,
    vstack,
)

from el_jax.linear_ntp.solvers.constraints import Constraints, constraints_in
from el_jax.linear_ntp.solvers.dual import MarginBracket, bracket, tighter
from el_jax.linear_ntp.solvers.faces import equalised
from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.linear_ntp.theory.subspace import decomposed, is_dense

_MAX_ROWS = 120  # V + rank H; a step costs its sixth power: about a second here
_TOLERANCE = 1e-12  # Clarabel stops by itself if rounding prevents this
_MAX_UNKNOWNS = 600  # of W in a basis of F⊥, which is dense
_SETTINGS: tuple[dict[str, float], ...] = (  # the second is slower, and loses fewer digits
    {},
    {
        "max_step_fraction": 0.95,
        "iterative_refinement_max_iter": 50,
        "iterative_refinement_reltol": 1e-15,
        "iterative_refinement_abstol": 1e-15,
        "iterative_refinement_stop_ratio": 1.5,
    },
)


def is_small(problem: MarginProblem) -> bool:
    """True if the positive semidefinite matrix is small enough for Clarabel."""
    rows = len(problem.support) + min(problem.embeddings.shape)
    return rows <= _MAX_ROWS and is_dense(problem.embeddings, problem.support)


def cone_bracket(
    problem: MarginProblem, norm: Literal["spectral", "nuclear"], tolerance: float
) -> MarginBracket:
    """Solve the program, and again more carefully if the gap is above ``tolerance``.

    Args:
        problem: the data.
        norm: the norm of the decoder.
        tolerance: on the relative gap.
    """
    left, spectrum, right = decomposed(problem.embeddings)
    these, best = constraints_in(right, problem), None
    shape = len(problem.support), len(spectrum)
    block = _off_diagonal(*shape)
    for basis, equal in _unknowns(these):
        for settings in _SETTINGS:
            solution = _solved(these, norm, spectrum, basis, equal, settings)
            m = basis @ np.asarray(solution.x)[: basis.shape[1]]
            w = equalised(problem, (m.reshape(shape) / spectrum) @ left.T)
            rows = np.cumsum([equal.sum(), len(these.tokens), norm == "nuclear"])
            _, alpha, _, matrix = np.split(solution.z, rows)
            # Clarabel stores off-diagonal entries times √2, and each counts twice
            along = -np.sqrt(2) * matrix[block].reshape(shape) / spectrum
            dual = these.dual(np.arange(len(these.tokens)), alpha, along)
            best = tighter(best, bracket(problem, w, dual, norm, int(solution.iterations)))
            if best.gap <= tolerance:
                return best
    assert best is not None
    return best


def _unknowns(these: Constraints) -> Iterator[tuple[Any, Bool[np.ndarray, "V m"]]]:
    """A basis for M, and the tokens at which L = c holds: the support, or one token of it in F⊥."""
    size, support = len(these.factor.left), these.problem.support
    yield eye_array(size, format="csr"), support
    if these.factor.left.size and size <= _MAX_UNKNOWNS:
        yield null_space(these.factor.left.T), support & (support.cumsum(axis=0) == 1)


def _solved(
    these: Constraints,
    norm: str,
    spectrum: Float64[np.ndarray, "r"],
    basis: Any,
    equal: Bool[np.ndarray, "V m"],
    settings: dict[str, float],
) -> Any:
    """Clarabel's solution; its multipliers are of L = c, L off the supports, traces, the matrix."""
    problem, right = these.problem, these.coordinates
    (vocab_size, num_contexts), rank = problem.support.shape, len(spectrum)
    rows = vocab_size + rank
    logits = csr_matrix(kron(eye_array(vocab_size), csr_matrix(right.T)) @ basis)
    levels = kron(np.ones((vocab_size, 1)), eye_array(num_contexts))
    margins = hstack([logits, -levels, csr_matrix(-problem.target.ravel()[:, None])], "csr")
    inside, outside = margins[equal.ravel()], margins[~problem.support.ravel()]
    triangle, unknowns = rows * (rows + 1) // 2, margins.shape[1]
    place = _off_diagonal(vocab_size, rank), np.arange(vocab_size * rank)
    entries = np.tile(-np.sqrt(2) / spectrum, vocab_size)
    block = csr_matrix((entries, place), shape=(triangle, vocab_size * rank)) @ basis
    matrix = hstack([csr_matrix(block), csr_matrix((triangle, unknowns - basis.shape[1]))])
    diagonal = np.zeros(triangle)
    diagonal[np.cumsum(np.arange(1, rows + 1)) - 1] = 1.0
    ball, bounds = matrix, diagonal
    if norm == "nuclear":  # the entries of P and Q are unknown; their traces sum to 2
        free = np.setdiff1d(np.arange(triangle), place[0])
        traces = block_array([[csr_matrix((1, unknowns)), diagonal[None, free]]])
        ball = vstack([traces, hstack([matrix, -eye_array(triangle, format="csr")[:, free]])])
        bounds = np.append(2.0, np.zeros(triangle))
    margins = vstack([inside, outside])
    none = csr_matrix((margins.shape[0], ball.shape[1] - unknowns))
    return _clarabel(
        vstack([hstack([margins, none]), ball]),
        np.append(np.zeros(margins.shape[0]), bounds),
        -np.eye(1, ball.shape[1], unknowns - 1)[0],
        [
            clarabel.ZeroConeT(inside.shape[0]),
            clarabel.NonnegativeConeT(outside.shape[0] + (norm == "nuclear")),
            clarabel.PSDTriangleConeT(rows),
        ],
        settings,
    )


def _clarabel(
    rows: Any,
    bounds: Float64[np.ndarray, "n"],
    cost: Float64[np.ndarray, "k"],
    cones: list[Any],
    settings: dict[str, float],
) -> Any:
    """The x of least cost for which bounds - rows x is in the cones."""
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = _TOLERANCE
    for name, value in settings.items():
        setattr(options, name, value)
    quadratic = csc_matrix((len(cost), len(cost)))
    return clarabel.DefaultSolver(quadratic, cost, csc_matrix(rows), bounds, cones, options).solve()


def _off_diagonal(vocab_size: int, rank: int) -> Int[np.ndarray, "Vr"]:
    """Places of the block W in the upper triangle of the matrix, column by column."""
    row, column = np.divmod(np.arange(vocab_size * rank), rank)
    column = column + vocab_size
    return column * (column + 1) // 2 + row
