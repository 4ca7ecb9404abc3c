"""The max-margin problem in the max norm: a linear program, feasible whatever the data.

Maximise t such that |W| <= 1, L = c on the supports and L <= c - t off them, for L = W H and levels
c. The multipliers of its rows are a B of D with ‖B Hᵀ‖_1 = t, so at t = 0 they are a Farkas
matrix, and since all norms agree on what is separable, it decides that for every norm.
"""

import numpy as np
from jaxtyping import Float64
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, eye_array, hstack, kron

from el_jax.linear_ntp.dual import MarginBracket, bracket, in_cone
from el_jax.linear_ntp.faces import equalised
from el_jax.linear_ntp.problem import NTPProblem

# HiGHS's own are 1e-7; these are the smallest it takes.
_SOLVER_TOLERANCE = 1e-10
_MAX_NONZEROS = 2e7


def is_affordable(problem: NTPProblem) -> bool:
    """Whether the program, of V m (d + 1) nonzeros, is small enough for HiGHS."""
    return problem.support.size * (problem.dim + 1) <= _MAX_NONZEROS


def max_norm_bracket(problem: NTPProblem) -> MarginBracket:
    """Solves the program with HiGHS; what its answer is worth is for the bracket to say."""
    vocab_size, num_contexts = problem.support.shape
    size = vocab_size * problem.dim
    inside = problem.support.ravel()
    logits = kron(eye_array(vocab_size, format="csr"), csr_matrix(problem.embeddings.T), "csr")
    levels = kron(np.ones((vocab_size, 1)), eye_array(num_contexts, format="csr"), "csr")
    rows = hstack([logits, -levels, csr_matrix((~inside).astype(float)[:, None])], "csr")
    cost = np.zeros(rows.shape[1])
    cost[-1] = -1.0
    result = linprog(
        cost,
        A_ub=rows[~inside],
        b_ub=np.zeros(int((~inside).sum())),
        A_eq=rows[inside],
        b_eq=np.zeros(int(inside.sum())),
        bounds=[(-1, 1)] * size + [(None, None)] * (num_contexts + 1),
        method="highs",
        options={
            "primal_feasibility_tolerance": _SOLVER_TOLERANCE,
            "dual_feasibility_tolerance": _SOLVER_TOLERANCE,
        },
    )
    if result.x is None:
        zero = np.zeros((vocab_size, problem.dim))
        return bracket(problem, zero, np.zeros(problem.support.shape), "max", 0)
    w = equalised(problem, result.x[:size].reshape(vocab_size, problem.dim))
    dual = _multipliers(problem, result.eqlin.marginals, result.ineqlin.marginals)
    return bracket(problem, w, dual, "max", int(result.nit))


def _multipliers(
    problem: NTPProblem, equalities: np.ndarray, inequalities: np.ndarray
) -> Float64[np.ndarray, "V m"]:
    """The solver's marginals as a matrix, moved into D by what rounding has left outside it."""
    dual = np.zeros(problem.support.shape)
    dual[problem.support], dual[~problem.support] = equalities, inequalities
    return in_cone(dual, problem.support)
