"""The max-margin problem in the Frobenius norm: accelerated ascent on its dual, then exact faces.

The dual of min ½‖W‖² at unit margin is max_{B in D} -Σ_off B - ½‖B Hᵀ‖², with W = B Hᵀ. An
iteration is one product with the Gram matrix and one projection on D. Once the vanishing entries of
B are known, the rest is linear (a face of D) and solved to rounding. Where the solution on a face
is no optimum but better than the iterate, the ascent goes on from it.
"""

from functools import reduce
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
)
from el_jax.linear_ntp.solvers.faces import annihilated, equalised, solve_on_face
from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.process.double_precision import float64

_EARLY_LOOK, _FIRST_CHUNK = 10, 100  # iterations; the early look is for verdicts
_POLISHED_GAP = 0.03
_AFTER_FACE = 25  # iterations after the first face that helps: the next is often the right one


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


@jax.jit
def _ascend(
    state: _AscentState,
    gram_factors: tuple[Float[Array, "_ _"], ...],
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
        moved = state.ahead + step * (target - reduce(jnp.matmul, gram_factors, state.ahead))
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
    """Ascend until the relative gap is ``tolerance``, or a Farkas matrix shows there is no margin.

    Args:
        problem: the data.
        tolerance: on the relative gap; infinity stops at the first decoder that separates.
        max_iterations: limit on the ascent, which is checked at growing intervals.
        start: the bracket so far; the ascent begins at its dual matrix.
    """
    step = 1 / np.linalg.norm(problem.embeddings, 2) ** 2
    best, done = start, 0 if start is None else start.iterations
    chunk = _FIRST_CHUNK if start is not None or np.isfinite(tolerance) else _EARLY_LOOK
    soon = _AFTER_FACE
    with float64():
        dual = jnp.zeros(problem.support.shape)
        if start is not None:  # scaled as at the solution, where its mass is ‖W‖²
            size = start.lower * start.upper * start.mass if start.lower > 0 else 1.0
            dual = jnp.asarray(start.dual / size)
        state = _AscentState(dual, dual, jnp.ones(()), jnp.zeros((1, dual.shape[1])))
        while done < max_iterations:
            chunk = min(chunk, max_iterations - done)
            state = _ascend(
                state, problem.gram_factors, problem.support, problem.target, step, chunk
            )
            done, chunk = done + chunk, max(int(1.5 * chunk), _FIRST_CHUNK - done - chunk)
            found = _bracket_of(problem, np.asarray(state.dual), done)
            best = tighter(best, found)
            if np.isfinite(tolerance) and found.gap <= _POLISHED_GAP:
                on_face = _solved_on_face(problem, found)
                best = tighter(best, on_face)
                if _objective(on_face) > _objective(found):
                    dual = jnp.asarray(on_face.dual)
                    state = _AscentState(dual, dual, jnp.ones(()), state.level)
                    chunk, soon = min(chunk, soon), max_iterations
            if is_solved(problem, best, tolerance):
                break
            if best.lower == 0 and (shown := farkas(problem, best.dual)) is not None:
                return bracket(problem, best.w, shown, "frobenius", done)
    assert best is not None
    return best


def is_solved(problem: MarginProblem, best: MarginBracket, tolerance: float) -> bool:
    """True if the bracket meets the tolerance and W is near B Hᵀ, which it should equal."""
    if not (best.lower > 0 and best.gap <= tolerance):
        return False
    if np.isinf(tolerance):
        return True
    # ‖W - B Hᵀ‖ / ‖W‖ at unit margin: first order in errors, while gaps are second order
    size = np.linalg.norm(best.w)
    dual = best.dual * (size / best.lower / best.mass)
    return bool(np.linalg.norm(best.w - dual @ problem.embeddings.T) / size <= tolerance)


def farkas(
    problem: MarginProblem, dual: Float64[np.ndarray, "V m"]
) -> Float64[np.ndarray, "V m"] | None:
    """A matrix near ``dual`` that shows there is no margin, if there is one."""
    for candidate in (dual, annihilated(problem, dual)):
        if candidate is not None and shows_inseparable(problem, candidate):
            return candidate
    return None


def _solved_on_face(problem: MarginProblem, found: MarginBracket) -> MarginBracket:
    """The exact solution on the face of an iterate: the solution itself, if the face is right."""
    dual = found.dual
    missing = problem.target - dual @ problem.embeddings.T @ problem.embeddings
    face = problem.support | (dual < 0)
    change = solve_on_face(problem.embeddings, missing, face).combination
    return _bracket_of(problem, in_cone(dual + change, problem.support), found.iterations)


def _objective(found: MarginBracket) -> float:
    """-Σ_off t B - ½‖B Hᵀ‖², which the ascent increases."""
    return found.mass - (found.upper * found.mass) ** 2 / 2 if found.mass > 0 else 0.0


def _bracket_of(problem: MarginProblem, dual: np.ndarray, iterations: int) -> MarginBracket:
    w = equalised(problem, dual @ problem.embeddings.T)
    return bracket(problem, w, dual, "frobenius", iterations)
