"""A model whose drift is solvable: label 1 with logit u v, and Γ the hyperbola u v = logit p.

On Γ the Hessian is a (v, u)ᵀ(v, u) with a = p (1 - p), so that Tr H = a (u² + v²), which is least
at u² = v². The flow of Theorem 4.3 gives D = u² - v² = D(0) exp(-a η² k / B) after k steps. A step
of SGD multiplies D by 1 - η² g², where g is the slope of the batch's loss in the logit.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats
from jax import Array
from jaxtyping import Float, Int

from el_jax.types import Key

PROBABILITY = 0.3
CURVATURE = PROBABILITY * (1 - PROBABILITY)  # a
START = 3.0  # D(0)


def start() -> tuple[float, float]:
    """The point (u, v) of Γ at D(0), with u > 0."""
    logit = np.log(PROBABILITY / (1 - PROBABILITY))
    u = np.sqrt((START + np.sqrt(START**2 + 4 * logit**2)) / 2)
    return float(u), float(logit / u)


def predicted(rate: float, batch: int, steps: Int[np.ndarray, "S"]) -> Float[np.ndarray, "S"]:
    """D(k) / D(0) of the flow."""
    return np.exp(-CURVATURE * rate**2 / batch * steps)


def time_constant(rate: float, batch: int) -> int:
    """The step at which the flow has brought D to 1/e."""
    return round(batch / (CURVATURE * rate**2))


@partial(jax.jit, static_argnames=("batch", "num_paths", "num_marks"))
def simulate(
    key: Key, rate: float, every: int, *, batch: int, num_paths: int, num_marks: int
) -> Float[Array, " S"]:
    """Mean over paths of D(k) / D(0) at steps 0, ``every``, ..., ``num_marks * every``.

    Args:
        key: draws the labels.
        rate: η.
        every: steps between marks.
        batch: B, labels drawn anew at every step.
        num_paths: independent runs from the same start.
        num_marks: marks after the start.
    """
    # distribution of the number of ones in a batch, so that a batch takes one uniform number
    cumulative = jnp.asarray(scipy.stats.binom.cdf(np.arange(batch), batch, PROBABILITY))

    def step(number: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
        u, v = at
        uniform = jax.random.uniform(jax.random.fold_in(key, number), u.shape, u.dtype)
        ones = (uniform[:, None] > cumulative[None]).sum(axis=1) / batch
        slope = jax.nn.sigmoid(u * v) - ones
        return u - rate * slope * v, v - rate * slope * u

    def mark(at: tuple[Array, Array], place: Array) -> tuple[tuple[Array, Array], Array]:
        at = jax.lax.fori_loop(place * every, (place + 1) * every, step, at)
        return at, (at[0] ** 2 - at[1] ** 2).mean() / START

    begin = jax.tree.map(lambda x: jnp.full(num_paths, x), start())
    _, ratios = jax.lax.scan(mark, begin, jnp.arange(num_marks))
    return jnp.concatenate([jnp.ones(1), ratios])
