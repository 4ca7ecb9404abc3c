"""The max-margin problem in the spectral norm as a cone program, solved by Clarabel.

Maximise τ such that L = c on the supports and L <= c - τ t off them, for L = W H, levels c and the
margins t asked for, and such that [[I, W], [Wᵀ, I]] is positive semidefinite, so σ_max(W) <= 1.
The unknowns are M = W U Σ of H = U Σ R, whose rows R are orthonormal: a common mean of the
embeddings leaves the constraints on L as they are.

Goulart and Chen 2024, "Clarabel: An interior-point solver for conic programs with quadratic
objectives" (arXiv 2405.12762).
"""

from typing import Any

import clarabel
import numpy as np
from jaxtyping import Float64, Int
from scipy.sparse import csc_matrix, csr_matrix, eye_array, hstack, kron, vstack

from el_jax.linear_ntp.solvers.constraints import constraints_in
from el_jax.linear_ntp.solvers.dual import MarginBracket, bracket, tighter
from el_jax.linear_ntp.solvers.faces import equalised
from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.linear_ntp.theory.subspace import decomposed, is_dense

_MAX_ROWS = 120  # V + rank H, whose sixth power a step takes: about a second here
_TOLERANCE = 1e-12  # Clarabel stops by itself where rounding keeps it from that
_ATTEMPTS: tuple[dict[str, float], ...] = (  # the second is slower, and loses fewer digits
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


def cone_bracket(problem: MarginProblem, tolerance: float) -> MarginBracket:
    """Solves the program, and once more with other settings where the gap is above ``tolerance``.

    Args:
        problem: the data.
        tolerance: on the relative gap.
    """
    left, spectrum, right = decomposed(problem.embeddings)
    these, best = constraints_in(right, problem), None
    shape = len(problem.support), len(spectrum)
    block = _off_diagonal(*shape)
    inside, alpha = int(problem.support.sum()), np.zeros(problem.support.shape)
    for settings in _ATTEMPTS:
        solution = _solved(problem, right, spectrum, settings)
        m = np.asarray(solution.x)[: len(block)].reshape(shape)
        w = equalised(problem, (m / spectrum) @ left.T)
        _, alpha[~problem.support], matrix = np.split(solution.z, [inside, problem.support.size])
        # Clarabel holds entries off the diagonal times √2, and each counts twice
        along = -np.sqrt(2) * matrix[block].reshape(shape) / spectrum
        dual = these.dual(np.arange(len(these.tokens)), alpha[~problem.support], along)
        best = tighter(best, bracket(problem, w, dual, "spectral", int(solution.iterations)))
        if best.gap <= tolerance:
            break
    assert best is not None
    return best


def _solved(
    problem: MarginProblem,
    right: Float64[np.ndarray, "r m"],
    spectrum: Float64[np.ndarray, "r"],
    settings: dict[str, float],
) -> Any:
    """Clarabel's solution; its multipliers are of L in the support, of L off it, of the matrix."""
    (vocab_size, num_contexts), rank = problem.support.shape, len(spectrum)
    inside, rows = problem.support.ravel(), vocab_size + rank
    logits = kron(eye_array(vocab_size), csr_matrix(right.T))
    levels = kron(np.ones((vocab_size, 1)), eye_array(num_contexts))
    margins = hstack([logits, -levels, csr_matrix(-problem.target.ravel()[:, None])], "csr")
    triangle, unknowns = rows * (rows + 1) // 2, margins.shape[1]
    place = _off_diagonal(vocab_size, rank), np.arange(vocab_size * rank)
    entries = np.tile(-np.sqrt(2) / spectrum, vocab_size)
    matrix = csr_matrix((entries, place), shape=(triangle, unknowns))
    diagonal = np.zeros(triangle)
    diagonal[np.cumsum(np.arange(1, rows + 1)) - 1] = 1.0
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = _TOLERANCE
    for name, value in settings.items():
        setattr(options, name, value)
    return clarabel.DefaultSolver(
        csc_matrix((unknowns, unknowns)),
        np.append(np.zeros(unknowns - 1), -1.0),
        csc_matrix(vstack([margins[inside], margins[~inside], matrix])),
        np.concatenate([np.zeros(inside.size), diagonal]),
        [
            clarabel.ZeroConeT(int(inside.sum())),
            clarabel.NonnegativeConeT(int((~inside).sum())),
            clarabel.PSDTriangleConeT(rows),
        ],
        options,
    ).solve()


def _off_diagonal(vocab_size: int, rank: int) -> Int[np.ndarray, "Vr"]:
    """Where the block W of the matrix lies in its upper triangle, column by column."""
    row, column = np.divmod(np.arange(vocab_size * rank), rank)
    column = column + vocab_size
    return column * (column + 1) // 2 + row
