"""The max-margin problem in the Frobenius norm for nearly dependent embeddings.

Inside F⊥ the only constraint on a decoder is that the level of a context exceeds the logit of each
token outside its support: A w >= t. The solution is the w of least norm. With α >= 0 that is

    min ‖Aᵀα‖² + (1 - g tᵀα)²,     w ∝ Aᵀα,

a non-negative least-squares problem for any g > 0. An active set solves it in finitely many steps.
Each is a least-squares problem solved by orthogonal factors, so near-duplicates and a common mean
do not slow it, as they slow ascent. If no w exists, the minimum is 0 and α makes a Farkas matrix.

Lawson and Hanson 1974, "Solving Least Squares Problems", chapter 23 (LDP and NNLS).
"""

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import nnls

from el_jax.linear_ntp.solvers.constraints import Constraints, constraints_in
from el_jax.linear_ntp.solvers.dual import MarginBracket, bracket, tighter
from el_jax.linear_ntp.solvers.faces import equalised
from el_jax.linear_ntp.solvers.frobenius import farkas, is_solved
from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.linear_ntp.theory.subspace import is_dense

_MAX_ROWS = 1500
_MAX_CONSTRAINTS = 1000  # chosen at the start, and added at a time when violated
_RESCALINGS = 8
_NEAR = 10.0  # ratio of g to the margin up to which no digits are lost
_VIOLATED = 1e-11


def is_small(problem: MarginProblem) -> bool:
    """True if least squares with V rank H rows is affordable."""
    rows = len(problem.support) * min(problem.embeddings.shape)
    return rows <= _MAX_ROWS and is_dense(problem.embeddings, problem.support)


def active_set_bracket(
    problem: MarginProblem, start: MarginBracket, *, tolerance: float
) -> MarginBracket:
    """Solve for values of g that approach the margin, or find a Farkas matrix.

    Args:
        problem: the data.
        start: the bracket so far.
        tolerance: on the relative gap; infinity stops at the first decoder that separates.
    """
    basis, coordinates = np.linalg.qr(problem.embeddings)
    these = constraints_in(coordinates, problem)
    largest_first = np.argsort(start.dual[these.tokens, these.contexts], kind="stable")
    chosen, best, guess = largest_first[:_MAX_CONSTRAINTS], start, start.upper
    for _ in range(_RESCALINGS):
        chosen, alpha = _multipliers(these, chosen, guess)
        if alpha is None:
            break
        found = None
        for w, weights in _solutions(these, chosen, alpha):
            w, dual = equalised(problem, w @ basis.T), these.dual(chosen, weights)
            found = tighter(found, bracket(problem, w, dual, "frobenius", start.iterations))
        assert found is not None
        best, before = tighter(best, found), guess
        if is_solved(problem, best, tolerance):
            break
        if best.lower == 0 and (shown := farkas(problem, found.dual)) is not None:
            return bracket(problem, best.w, shown, "frobenius", start.iterations)
        guess = np.sqrt(found.lower * found.upper) if found.lower > 0 else found.upper
        if not 0 < guess < before / _NEAR:
            break
    return best


def _multipliers(
    these: Constraints, chosen: np.ndarray, guess: float
) -> tuple[np.ndarray, np.ndarray | None]:
    """α of the chosen constraints; violated ones are added until none is left."""
    while True:
        rows = these.rows(chosen)
        margins = guess * these.problem.margins[these.contexts[chosen]]
        stacked, wanted = np.vstack([rows.T, margins]), np.zeros(rows.shape[1] + 1)
        wanted[-1] = 1.0
        try:
            alpha, _ = nnls(stacked, wanted, maxiter=10 * len(chosen))
        except RuntimeError:  # it cycles in the last digits
            return chosen, None
        w, rest = rows.T @ alpha, 1 - margins @ alpha
        if rest <= 0:  # the minimum is 0: no decoder satisfies even these
            return chosen, alpha
        slack = these.slack((w * guess / rest).reshape(-1, len(these.coordinates)))
        slack[chosen] = 0.0
        violated = np.argsort(slack)[:_MAX_CONSTRAINTS]
        violated = violated[slack[violated] < -_VIOLATED]
        if len(violated) == 0:
            return chosen, alpha
        chosen = np.concatenate([chosen, violated])


def _solutions(
    these: Constraints, chosen: np.ndarray, alpha: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """W and multipliers as given, and after solving the active set's equations again."""
    shape = -1, len(these.coordinates)
    rows, active = these.rows(chosen), np.flatnonzero(alpha)
    found = [((rows.T @ alpha).reshape(shape), alpha)]
    if len(active) <= rows.shape[1]:
        basis, factor = qr(rows[active].T, mode="economic")
        if np.diag(factor).all():
            weights = solve_triangular(
                factor, these.problem.margins[these.contexts[chosen[active]]], trans="T"
            )
            exact = np.zeros(len(alpha))
            exact[active] = np.maximum(solve_triangular(factor, weights), 0)
            found.append(((basis @ weights).reshape(shape), exact))
    return found
