"""The max-margin problem in the Frobenius norm: accelerated ascent on its dual, then exact faces.

The dual of min ½‖W‖² at unit margin is max_{B in D} -Σ_off B - ½‖B Hᵀ‖², with W = B Hᵀ. An
iteration is one product with the Gram matrix and one projection on D. Once it has found which
entries of B vanish, what is left is linear (a face of D) and solved to rounding.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Float64, Int

from el_jax.linear_ntp.solvers.dual import (
    MarginBracket,
    bracket,
    in_cone,
    project_on_cone,
    shows_inseparable,
    tighter,
    weighed_mass,
)
from el_jax.linear_ntp.solvers.faces import annihilated, equalised, solve_on_face
from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.process.double_precision import float64

_FIRST_CHUNK = 100
_POLISHED_GAP = 0.03


class _AscentState(NamedTuple):
    """Accelerated projected ascent.

    Attributes:
        dual: B, in D, ``[V, m]``.
        ahead: the extrapolated point the next step starts from, ``[V, m]``.
        momentum: Nesterov's sequence t.
        level: τ of the last projection, a first guess for the next, ``[1, m]``.
    """

    dual: Float[Array, "V m"]
    ahead: Float[Array, "V m"]
    momentum: Float[Array, ""]
    level: Float[Array, "1 m"]


def _start(dual: Float[Array, "V m"]) -> _AscentState:
    """At ``dual``, without momentum."""
    return _AscentState(dual, dual, jnp.ones(()), jnp.zeros((1, dual.shape[1])))


@jax.jit
def _ascend(
    state: _AscentState,
    gram: Float[Array, "m m"],
    support: Bool[Array, "V m"],
    target: Float[Array, "V m"],
    step: Float[Array, ""],
    num_steps: Int[Array, ""],
) -> _AscentState:
    """Accelerated projected ascent on the dual (Beck and Teboulle 2009, FISTA).

    Momentum is dropped when it points against the step, the gradient restart of O'Donoghue and
    Candès 2015 (arXiv 1204.3982).
    """

    def iterate(_: Array, state: _AscentState) -> _AscentState:
        moved = state.ahead + step * (target - state.ahead @ gram)
        dual, level = project_on_cone(moved, support, state.level)
        change = dual - state.dual
        against = jnp.sum((state.ahead - dual) * change) > 0
        momentum = jnp.where(against, 1.0, (1 + jnp.sqrt(1 + 4 * state.momentum**2)) / 2)
        weight = jnp.where(against, 0.0, (state.momentum - 1) / momentum)
        return _AscentState(dual, dual + weight * change, momentum, level)

    return jax.lax.fori_loop(0, num_steps, iterate, state)


def frobenius_bracket(
    problem: MarginProblem,
    *,
    tolerance: float,
    max_iterations: int,
    start: MarginBracket | None = None,
) -> MarginBracket:
    """Ascends until the relative gap is ``tolerance``, or a Farkas matrix shows there is no margin.

    Args:
        problem: the data.
        tolerance: on the relative gap; infinity stops at the first decoder that separates.
        max_iterations: of the ascent; looked at in growing intervals.
        start: what is known already; its dual matrix is where the ascent begins.
    """
    step = 1 / np.linalg.norm(problem.embeddings, 2) ** 2
    best, done, chunk = start, 0 if start is None else start.iterations, _FIRST_CHUNK
    with float64():
        first = np.zeros(problem.support.shape) if start is None else scaled_dual(start, problem)
        state = _start(jnp.asarray(first))
        while done < max_iterations:
            chunk = min(chunk, max_iterations - done)
            state = _ascend(state, problem.gram, problem.support, problem.target, step, chunk)
            done, chunk = done + chunk, int(1.5 * chunk)
            best = _tightened(
                problem, best, np.asarray(state.dual), done, exact=bool(np.isfinite(tolerance))
            )
            if is_solved(problem, best, tolerance):
                break
            if best.lower == 0 and (dual := farkas(problem, best.dual)) is not None:
                return bracket(problem, best.w, dual, "frobenius", done)
    assert best is not None
    return best


def is_solved(problem: MarginProblem, best: MarginBracket, tolerance: float) -> bool:
    """True if the bracket is as narrow as asked for and its W is near the B Hᵀ it should be."""
    return (
        best.lower > 0
        and best.gap <= tolerance
        and (not np.isfinite(tolerance) or _stationarity(problem, best) <= tolerance)
    )


def farkas(
    problem: MarginProblem, dual: Float64[np.ndarray, "V m"]
) -> Float64[np.ndarray, "V m"] | None:
    """A matrix near ``dual`` that shows there is no margin, if there is one."""
    for candidate in (dual, annihilated(problem, dual)):
        if candidate is not None and shows_inseparable(problem, candidate):
            return candidate
    return None


def scaled_dual(found: MarginBracket, problem: MarginProblem) -> Float64[np.ndarray, "V m"]:
    """Its B, of the size it has at the solution, where the mass is the square of the norm."""
    if found.lower == 0:
        return found.dual
    return found.dual / (found.lower * found.upper * weighed_mass(found.dual, problem))


def _tightened(
    problem: MarginProblem,
    best: MarginBracket | None,
    dual: np.ndarray,
    iterations: int,
    exact: bool,
) -> MarginBracket:
    """The best bracket so far, tightened by an iterate and by the exact solution on its face.

    The face is solved only if ``exact``, and if the gap is so small that the face may be right.
    """
    support, embeddings = problem.support, problem.embeddings
    w = equalised(problem, dual @ embeddings.T)
    raw = bracket(problem, w, dual, "frobenius", iterations)
    best = tighter(best, raw)
    if not exact or raw.gap > _POLISHED_GAP:
        return best
    missing = problem.target - dual @ embeddings.T @ embeddings
    change = solve_on_face(embeddings, missing, support | (dual < 0)).combination
    dual = in_cone(dual + change, support)
    w = equalised(problem, dual @ embeddings.T)
    return tighter(best, bracket(problem, w, dual, "frobenius", iterations))


def _stationarity(problem: MarginProblem, best: MarginBracket) -> float:
    """‖W - B Hᵀ‖ / ‖W‖ at unit margin: of first order in errors, where gaps are of second."""
    mass, size = weighed_mass(best.dual, problem), np.linalg.norm(best.w)
    scaled = best.dual * (size / best.lower / mass)
    return float(np.linalg.norm(best.w - scaled @ problem.embeddings.T) / size)
