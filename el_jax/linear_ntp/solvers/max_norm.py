"""The max-margin problem in the max norm: a linear program, feasible for any data.

Maximise τ such that |W| <= 1, L = c on the supports and L <= c - τ t off them, for L = W H, levels
c and required margins t. The multipliers of its rows are a B in D with ‖B Hᵀ‖_1 = τ, so at τ = 0
they are a Farkas matrix. All norms agree on separability, so this program decides it for every
norm.
"""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, eye_array, hstack, kron

from el_jax.linear_ntp.solvers.dual import (
    MarginBracket,
    bracket,
    in_cone,
    shows_inseparable,
    tighter,
)
from el_jax.linear_ntp.solvers.faces import equalised
from el_jax.linear_ntp.solvers.scaling import MarginProblem

# HiGHS's defaults are 1e-7; these are the smallest it accepts.
_SOLVER_TOLERANCE = 1e-10
_MAX_NONZEROS = 2e7
_SMALL_GAP = 1e-8


def is_affordable(problem: MarginProblem) -> bool:
    """True if the program, with V m (d + 1) nonzeros, is small enough for HiGHS."""
    return problem.support.size * (len(problem.embeddings) + 1) <= _MAX_NONZEROS


def max_norm_bracket(problem: MarginProblem) -> MarginBracket:
    """Solve the program with HiGHS; the bracket says how good the answer is.

    Uses the simplex method and, if rounding keeps its gap large, interior points too.
    """
    vocab_size, num_contexts = problem.support.shape
    size = vocab_size * len(problem.embeddings)
    inside = problem.support.ravel()
    logits = kron(eye_array(vocab_size, format="csr"), csr_matrix(problem.embeddings.T), "csr")
    levels = kron(np.ones((vocab_size, 1)), eye_array(num_contexts, format="csr"), "csr")
    rows = hstack([logits, -levels, csr_matrix(-problem.target.ravel()[:, None])], "csr")
    cost = np.zeros(rows.shape[1])
    cost[-1] = -1.0
    zeros = np.zeros((vocab_size, len(problem.embeddings))), np.zeros(problem.support.shape)
    best = bracket(problem, *zeros, "max", 0)
    for method in ("highs", "highs-ipm"):
        result = linprog(
            cost,
            A_ub=rows[~inside],
            b_ub=np.zeros(int((~inside).sum())),
            A_eq=rows[inside],
            b_eq=np.zeros(int(inside.sum())),
            bounds=[(-1, 1)] * size + [(None, None)] * (num_contexts + 1),
            method=method,
            options={
                "primal_feasibility_tolerance": _SOLVER_TOLERANCE,
                "dual_feasibility_tolerance": _SOLVER_TOLERANCE,
            },
        )
        if result.x is None:
            continue
        w = equalised(problem, result.x[:size].reshape(zeros[0].shape))
        dual = np.zeros(problem.support.shape)
        dual[problem.support] = result.eqlin.marginals
        dual[~problem.support] = result.ineqlin.marginals
        dual = in_cone(dual, problem.support)  # rounding put it outside
        best = tighter(best, bracket(problem, w, dual, "max", int(result.nit)))
        if best.gap <= _SMALL_GAP or shows_inseparable(problem, dual):
            break
    return best
