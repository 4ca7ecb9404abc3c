"""The max-margin problem in the spectral, nuclear or max norm, by splitting (ADMM).

min ½ N(Z)² over logits L at unit margin, with Z = W and L = W H: a least-squares step on W, the
proximal map of ½ N² on Z, and the projection onto the constraints on L. The scaled multiplier of L
is, at every iteration, minus a matrix of D, which bounds the margin from above; its decoder, made
equal inside supports, bounds it from below. Convergence is linear but slow: the bracket says how
far it got.

Boyd et al. 2011, "Distributed Optimization and Statistical Learning via the Alternating Direction
Method of Multipliers", section 3.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from el_jax.linear_ntp.solvers.dual import MarginBracket, bracket, project_on_cone, tighter
from el_jax.linear_ntp.solvers.faces import equalised
from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.linear_ntp.theory.norms import Norm
from el_jax.process.double_precision import float64

_CHUNK = 100
_RELAXATION = 1.6
_IMBALANCE = 3.0  # ratio of residuals at which the penalty is changed


class _SplitState(NamedTuple):
    """Copies Z of W and L of W H, their scaled multipliers, and their residuals."""

    z: Float[Array, "V d"]
    logits: Float[Array, "V m"]
    z_multiplier: Float[Array, "V d"]
    logit_multiplier: Float[Array, "V m"]
    level: Float[Array, "1 m"]
    w: Float[Array, "V d"]
    primal: Float[Array, ""]
    dual: Float[Array, ""]


def split_bracket(
    problem: MarginProblem,
    norm: Norm,
    *,
    tolerance: float,
    max_iterations: int,
    start: MarginBracket | None = None,
) -> MarginBracket:
    """Iterate until the relative gap is ``tolerance``, at most ``max_iterations`` times.

    Args:
        problem: the data.
        norm: "max", "spectral" or "nuclear".
        tolerance: on the relative gap.
        max_iterations: the limit; the gap is checked every 100.
        start: a bracket of another norm; its decoder and dual matrix stay until better ones are
            found.
    """
    scale = float(np.linalg.norm(problem.embeddings, 2))
    embeddings, support = problem.embeddings / scale, problem.support
    inverse = np.linalg.inv(np.eye(len(embeddings)) + embeddings @ embeddings.T)
    penalty, best = 1.0, None if start is None else bracket(problem, *start[:2], norm, 0)
    constants = embeddings, inverse, support, problem.target
    with float64():
        zero, logits = jnp.zeros((len(support), len(embeddings))), jnp.zeros(support.shape)
        level, unsettled = jnp.zeros((1, support.shape[1])), jnp.ones(())
        state = _SplitState(zero, logits, zero, logits, level, zero, unsettled, unsettled)
        for done in range(_CHUNK, max_iterations + _CHUNK, _CHUNK):
            state = _iterate(state, *constants, penalty, _CHUNK, norm)
            w = equalised(problem, np.asarray(state.w))
            dual = -np.asarray(state.logit_multiplier)
            best = tighter(best, bracket(problem, w, dual, norm, done))
            if best.gap <= tolerance:
                break
            ratio = float(state.primal / state.dual) if state.dual > 0 else 1.0
            if not 1 / _IMBALANCE <= ratio <= _IMBALANCE:
                change = float(np.clip(np.sqrt(ratio), 0.2, 5.0))
                penalty *= change
                state = state._replace(
                    z_multiplier=state.z_multiplier / change,
                    logit_multiplier=state.logit_multiplier / change,
                )
    assert best is not None
    return best


@partial(jax.jit, static_argnames="norm")
def _iterate(
    state: _SplitState,
    embeddings: Float[Array, "d m"],
    inverse: Float[Array, "d d"],
    support: Bool[Array, "V m"],
    target: Float[Array, "V m"],
    penalty: Float[Array, ""],
    num_steps: Int[Array, ""],
    norm: Norm,
) -> _SplitState:
    proximal = _PROXIMAL[norm]

    def step(_: Array, s: _SplitState) -> _SplitState:
        pull = s.z - s.z_multiplier + (s.logits - s.logit_multiplier) @ embeddings.T
        w = pull @ inverse
        logits = w @ embeddings
        z_in = _RELAXATION * w + (1 - _RELAXATION) * s.z + s.z_multiplier
        logits_in = _RELAXATION * logits + (1 - _RELAXATION) * s.logits + s.logit_multiplier
        z = proximal(z_in, penalty)
        # projecting on the constraints moves by the projection on D (Moreau)
        move, level = project_on_cone(target - logits_in, support, s.level)
        primal = jnp.hypot(jnp.linalg.norm(w - z), jnp.linalg.norm(logits - logits_in - move))
        size = jnp.hypot(jnp.linalg.norm(z), jnp.linalg.norm(logits_in + move))
        pulled = z - s.z + (logits_in + move - s.logits) @ embeddings.T
        held = jnp.linalg.norm(z_in - z)
        return _SplitState(
            z,
            logits_in + move,
            z_in - z,
            -move,
            level,
            w,
            primal / jnp.maximum(size, 1e-300),
            jnp.linalg.norm(pulled) / jnp.maximum(held, 1e-300),
        )

    return jax.lax.fori_loop(0, num_steps, step, state)


def _clip_entries(x: Float[Array, "V d"], penalty: Float[Array, ""]) -> Float[Array, "V d"]:
    """argmin_Z ½ max|Z|² + ½ penalty ‖Z - X‖²."""
    threshold = _threshold(jnp.abs(x).ravel(), penalty)
    return jnp.clip(x, -threshold, threshold)


def _clip_singular_values(x: Float[Array, "V d"], penalty: Float[Array, ""]) -> Float[Array, "V d"]:
    """argmin_Z ½ σ_max(Z)² + ½ penalty ‖Z - X‖²; only values above the threshold are touched."""
    return x - _excess(x, penalty)


def _shrink_singular_values(
    x: Float[Array, "V d"], penalty: Float[Array, ""]
) -> Float[Array, "V d"]:
    """argmin_Z ½ (Σ σ(Z))² + ½ penalty ‖Z - X‖²; every value is less by the threshold, or 0."""
    return _excess(x, 1 / penalty)  # the two norms are dual (Moreau)


def _excess(x: Float[Array, "V d"], penalty: Float[Array, ""]) -> Float[Array, "V d"]:
    """X with its singular values above the threshold less by it, and the others 0."""
    wide = x.shape[0] < x.shape[1]
    short = x if wide else x.T  # [n, N] with n <= N
    squares, vectors = jnp.linalg.eigh(short @ short.T)
    values = jnp.sqrt(jnp.maximum(squares, 0.0))
    threshold = _threshold(values, penalty)
    excess = jnp.where(values > threshold, 1 - threshold / values, 0.0)
    above = (vectors * excess[None]) @ (vectors.T @ short)
    return above if wide else above.T


def _threshold(sizes: Float[Array, "n"], penalty: Float[Array, ""]) -> Float[Array, ""]:
    """The θ with θ = penalty Σ max(size - θ, 0): the largest of the roots with k terms."""
    largest_first = jnp.sort(sizes)[::-1]
    terms = jnp.arange(1, sizes.size + 1)
    return jnp.max(penalty * jnp.cumsum(largest_first) / (1 + penalty * terms))


_PROXIMAL = {
    "max": _clip_entries,
    "spectral": _clip_singular_values,
    "nuclear": _shrink_singular_values,
}
