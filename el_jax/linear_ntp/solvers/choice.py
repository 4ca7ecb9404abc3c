"""The table of max-margin methods: one for each norm, and another where the first is slow.

A solver takes the problem, the relative gap to reach and how many iterations it may make. With
None for the latter it may try other methods too.
"""

from collections.abc import Callable

import numpy as np

from el_jax.linear_ntp.solvers import interior_point
from el_jax.linear_ntp.solvers.active_set import active_set_bracket, is_small
from el_jax.linear_ntp.solvers.dual import MarginBracket, bracket, shows_inseparable, tighter
from el_jax.linear_ntp.solvers.frobenius import frobenius_bracket, is_solved
from el_jax.linear_ntp.solvers.max_norm import is_affordable, max_norm_bracket
from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.linear_ntp.solvers.splitting import split_bracket
from el_jax.linear_ntp.theory.norms import Norm

# Ascent before the active set is tried, and in all; splitting before interior points, and in all.
_PATIENCE, _MAX_ASCENT = 3_000, 100_000
_SPLITTING_PATIENCE, _MAX_SPLITTING = 1_000, 10_000
_COARSE = 1e-3  # gap above which splitting is helped by the solution for the Frobenius norm


def _frobenius(
    problem: MarginProblem, tolerance: float, max_iterations: int | None
) -> MarginBracket:
    first = _PATIENCE if max_iterations is None else max_iterations
    found = frobenius_bracket(problem, tolerance=tolerance, max_iterations=first)
    settled = is_solved(problem, found, tolerance) or shows_inseparable(problem, found.dual)
    if max_iterations is not None or settled:
        return found
    if is_small(problem):
        exact = active_set_bracket(problem, found, tolerance=tolerance)
        if exact is not found:
            return exact
    return frobenius_bracket(problem, tolerance=tolerance, max_iterations=_MAX_ASCENT, start=found)


def _max_norm(
    problem: MarginProblem, tolerance: float, max_iterations: int | None
) -> MarginBracket:
    if is_affordable(problem):
        return max_norm_bracket(problem)
    return _split(problem, "max", tolerance, max_iterations)


def _spectral(
    problem: MarginProblem, tolerance: float, max_iterations: int | None
) -> MarginBracket:
    if max_iterations is not None or not interior_point.is_small(problem):
        return _split(problem, "spectral", tolerance, max_iterations)
    found = _split(problem, "spectral", tolerance, _SPLITTING_PATIENCE)
    if found.lower == 0 or found.gap <= tolerance:
        return found
    found = interior_point.interior_bracket(problem, found, tolerance=tolerance)
    if found.gap <= tolerance:
        return found
    return tighter(found, _split(problem, "spectral", tolerance, None))


def _split(
    problem: MarginProblem, norm: Norm, tolerance: float, max_iterations: int | None
) -> MarginBracket:
    # all norms agree on what is separable, and the Frobenius norm is quick to tell
    first = _frobenius(problem, np.inf, None)
    if first.lower == 0:
        return first
    steps = max_iterations or _MAX_SPLITTING
    found = split_bracket(problem, norm, tolerance=tolerance, max_iterations=steps, start=first)
    if found.gap <= max(tolerance, _COARSE):
        return found
    exact = _frobenius(problem, _COARSE, None)  # no worse than the root of the rank apart
    return tighter(found, bracket(problem, exact.w, exact.dual, norm, found.iterations))


Solver = Callable[[MarginProblem, float, int | None], MarginBracket]
SOLVERS: dict[Norm, Solver] = {
    "frobenius": _frobenius,
    "max": _max_norm,
    "spectral": _spectral,
}
