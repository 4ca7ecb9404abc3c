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
from jaxtyping import Bool, Float, Int

from el_jax.linear_ntp.certificates import FarkasMatrix, verify_certificate
from el_jax.linear_ntp.dual import (
    MarginBracket,
    bracket,
    in_cone,
    outside_mass,
    project_on_cone,
    tighter,
    unit_margin,
)
from el_jax.linear_ntp.faces import annihilated, equalised, solve_on_face
from el_jax.linear_ntp.problem import NTPProblem

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
    step: Float[Array, ""],
    num_steps: Int[Array, ""],
) -> _AscentState:
    """Accelerated projected ascent on the dual (Beck and Teboulle 2009, FISTA).

    Momentum is dropped when it points against the step, the gradient restart of O'Donoghue and
    Candès 2015 (arXiv 1204.3982).
    """
    target = unit_margin(support)

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
    problem: NTPProblem, *, tolerance: float, max_iterations: int
) -> MarginBracket:
    """Ascends until the relative gap is ``tolerance``, or a Farkas matrix shows there is no margin.

    Args:
        problem: the data.
        tolerance: on the relative gap; infinity stops at the first decoder that separates.
        max_iterations: of the ascent; looked at in growing intervals.
    """
    step = 1 / np.linalg.norm(problem.embeddings, 2) ** 2
    best = None
    with jax.enable_x64(True):
        state = _start(jnp.zeros(problem.support.shape))
        done, chunk = 0, _FIRST_CHUNK
        while done < max_iterations:
            chunk = min(chunk, max_iterations - done)
            state = _ascend(state, problem.gram, problem.support, step, chunk)
            done, chunk = done + chunk, int(1.5 * chunk)
            best = _tightened(
                problem, best, np.asarray(state.dual), done, exact=bool(np.isfinite(tolerance))
            )
            if best.lower > 0:
                if best.gap <= tolerance and _stationarity(problem, best) <= tolerance:
                    break
            elif (dual := _farkas(problem, best)) is not None:
                return bracket(problem, best.w, dual, "frobenius", done)
    assert best is not None
    return best


def _tightened(
    problem: NTPProblem, best: MarginBracket | None, dual: np.ndarray, iterations: int, exact: bool
) -> MarginBracket:
    """What an iterate adds to the best bracket so far, and the exact solution on its face.

    The latter only where it is asked for and the gap is so small that the face may be right.
    """
    support, embeddings = problem.support, problem.embeddings
    w = equalised(problem, dual @ embeddings.T)
    raw = bracket(problem, w, dual, "frobenius", iterations)
    best = tighter(best, raw)
    if not exact or raw.gap > _POLISHED_GAP:
        return best
    missing = np.where(support, 0.0, -1.0) - dual @ embeddings.T @ embeddings
    change = solve_on_face(problem, missing, support | (dual < 0)).combination
    dual = in_cone(dual + change, support)
    w = equalised(problem, dual @ embeddings.T)
    return tighter(best, bracket(problem, w, dual, "frobenius", iterations))


def _stationarity(problem: NTPProblem, best: MarginBracket) -> float:
    """‖W - B Hᵀ‖ / ‖W‖ at unit margin: of first order in errors, where gaps are of second."""
    mass, size = outside_mass(best.dual, problem.support), np.linalg.norm(best.w)
    scaled = best.dual * (size / best.lower / mass)
    return float(np.linalg.norm(best.w - scaled @ problem.embeddings.T) / size)


def _farkas(problem: NTPProblem, best: MarginBracket) -> np.ndarray | None:
    dual = annihilated(problem, best.dual)
    valid = dual is not None and verify_certificate(problem, FarkasMatrix(dual)).valid
    return dual if valid else None
