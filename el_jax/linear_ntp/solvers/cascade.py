"""The order in which solvers are tried for a max margin, by norm.

A solver takes the rescaled problem and returns a bracket: a decoder W, a matrix B in D, and the
bounds they prove. The first sufficient bracket ends the cascade. Solvers do not know of each other.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from el_jax.linear_ntp.solvers import active_set, cone_program
from el_jax.linear_ntp.solvers.dual import MarginBracket, bracket, shows_inseparable, tighter
from el_jax.linear_ntp.solvers.frobenius import frobenius_bracket, is_solved
from el_jax.linear_ntp.solvers.max_norm import is_affordable, max_norm_bracket
from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.linear_ntp.solvers.splitting import split_bracket
from el_jax.linear_ntp.theory.norms import Norm

_PATIENCE, _MAX_ASCENT = 3_000, 100_000  # iterations before other methods are tried, and in all
_MAX_SPLITTING = 10_000
_COARSE = 1e-3  # gap above which splitting profits from the Frobenius solution


def _frobenius(
    problem: MarginProblem, tolerance: float, max_iterations: int | None
) -> MarginBracket:
    first = _PATIENCE if max_iterations is None else max_iterations
    found = frobenius_bracket(problem, tolerance=tolerance, max_iterations=first)
    settled = is_solved(problem, found, tolerance) or shows_inseparable(problem, found.dual)
    if max_iterations is not None or settled:
        return found
    if active_set.is_small(problem):
        exact = active_set.active_set_bracket(problem, found, tolerance=tolerance)
        if exact is not found:
            return exact
    return frobenius_bracket(problem, tolerance=tolerance, max_iterations=_MAX_ASCENT, start=found)


def _max(problem: MarginProblem, tolerance: float, max_iterations: int | None) -> MarginBracket:
    if is_affordable(problem):
        return max_norm_bracket(problem)
    return _split(problem, "max", tolerance, max_iterations)


def _of_singular_values(
    norm: Literal["spectral", "nuclear"],
    problem: MarginProblem,
    tolerance: float,
    max_iterations: int | None,
) -> MarginBracket:
    if max_iterations is not None or not cone_program.is_small(problem):
        return _split(problem, norm, tolerance, max_iterations)
    found = cone_program.cone_bracket(problem, norm, tolerance)
    if found.gap <= tolerance or shows_inseparable(problem, found.dual):
        return found
    return tighter(found, _split(problem, norm, tolerance, None))


def _split(
    problem: MarginProblem, norm: Norm, tolerance: float, max_iterations: int | None
) -> MarginBracket:
    # all norms agree on separability, and the Frobenius norm decides it quickly
    first = _frobenius(problem, np.inf, None)
    if first.lower == 0:
        return first
    steps = max_iterations or _MAX_SPLITTING
    found = split_bracket(problem, norm, tolerance=tolerance, max_iterations=steps, start=first)
    if found.gap <= max(tolerance, _COARSE):
        return found
    exact = _frobenius(problem, _COARSE, None)  # off by at most the root of the rank
    return tighter(found, bracket(problem, exact.w, exact.dual, norm, found.iterations))


Solver = Callable[[MarginProblem, float, int | None], MarginBracket]
# Each takes a target gap and a limit on iterations; with None it may try other methods.
SOLVERS: dict[Norm, Solver] = {
    "frobenius": _frobenius,
    "max": _max,
    "spectral": partial(_of_singular_values, "spectral"),
    "nuclear": partial(_of_singular_values, "nuclear"),
}
