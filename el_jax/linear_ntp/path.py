"""The regularisation path: what penalised or norm-bounded training converges to.

Thrampoulidis 2024 (arXiv 2402.18551), Theorem 1: as the ball grows, its minimiser aligns with the
max-margin matrix while its part in F tends to W*. The ridge path is the same curve, reparametrised.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.sparse.linalg import cg
from jaxtyping import ArrayLike, Float, Float64
from scipy.optimize import brentq

from el_jax.linear_ntp.landscape import Landscape, landscape, slope_at
from el_jax.linear_ntp.metrics import decoder_metrics
from el_jax.linear_ntp.problem import NTPProblem

_NEWTON_STEPS, _CG_STEPS = 100, 2000
_LEAST_RIDGE = 1e-13


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """Minimisers along a path, in the order asked for.

    Attributes:
        ridge: λ of each; for a ball, the multiplier of its constraint, ``[n]``.
        decoders: W of each, ``[n, V, d]``.
        stationarity: ‖∇CE(W) + λ W‖ / (λ ‖W‖), how exactly each was solved, ``[n]``.
        metrics: the metrics of ``decoder_metrics``, ``[n]`` each.
    """

    ridge: Float64[np.ndarray, "n"]
    decoders: Float64[np.ndarray, "n V d"]
    stationarity: Float64[np.ndarray, "n"]
    metrics: dict[str, Float64[np.ndarray, "n"]]


def regularization_path(
    problem: NTPProblem,
    *,
    ridge: Sequence[float] | Float[ArrayLike, "n"] | None = None,
    radius: Sequence[float] | Float[ArrayLike, "n"] | None = None,
    w_mm: Mapping[str, Float[np.ndarray | Array, "V d"]] | None = None,
    tolerance: float = 1e-9,
) -> RegularizationPath:
    """Minimises CE(W) + λ/2 ‖W‖² for each λ, or CE(W) over ‖W‖ <= B for each B.

    Newton's method with conjugate gradients, each solution starting from the one before; a ball
    is solved by finding the λ whose minimiser has its radius.

    Args:
        problem: the data.
        ridge: the λ > 0. Give these or ``radius``; large to small is fastest.
        radius: the B > 0; small to large is fastest. Where CE has a minimiser inside the ball, that
            one, up to λ = 1e-13.
        w_mm: max-margin matrices by norm, for the metrics that compare with them.
        tolerance: of the relative ``stationarity``, and of the radius.

    Raises:
        ValueError: unless exactly one of the two is given, not empty, positive and finite.

    Warns:
        RuntimeWarning: if a minimiser has not the stationarity asked for.
    """
    given = np.asarray(ridge if radius is None else radius, np.float64)
    one = (ridge is None) != (radius is None)
    positive = np.isfinite(given).all() and (given > 0).all()
    if not (one and positive and given.ndim == 1 and given.size):
        raise ValueError(
            f"ridge={ridge!r}, radius={radius!r}: must give one, positive numbers that are finite"
        )
    with jax.enable_x64(True):
        here = landscape(problem)
        W, lams = jnp.zeros((problem.vocab_size, problem.dim)), []
        decoders, errors = [], []
        for value in given.tolist():
            lams.append(value if radius is None else _multiplier(W, value, here, tolerance))
            W, error = _ridge_minimiser(W, lams[-1], here, tolerance)
            decoders.append(np.asarray(W))
            errors.append(float(error))
    # a ball that does not bind ends at the least ridge, which has no stationarity of its own
    worst = max(zip(errors, lams, strict=True), key=lambda e: e[0] if e[1] != _LEAST_RIDGE else 0)
    if worst[0] > tolerance and worst[1] != _LEAST_RIDGE:
        warnings.warn(
            f"regularization path: stationarity {worst[0]:.1e} at ridge {worst[1]:.1e}, above "
            f"tolerance={tolerance:g}",
            RuntimeWarning,
            stacklevel=2,
        )
    metrics = decoder_metrics(problem, np.array(decoders), w_mm=w_mm)
    return RegularizationPath(np.array(lams), np.array(decoders), np.array(errors), metrics)


def _multiplier(W: Array, radius: float, here: Landscape, tolerance: float) -> float:
    """λ such that ‖W_λ‖ = B, or the least one tried where the norm stays below B."""

    def above(log_lam: float) -> float:
        nonlocal W
        W, _ = _ridge_minimiser(W, np.exp(log_lam), here, tolerance)
        return float(jnp.log(jnp.linalg.norm(W) / radius))

    # λ ‖W_λ‖ = ‖∇CE(W_λ)‖ <= ‖∇CE(0)‖, as ∇CE is monotone
    high = float(jnp.log(_gradient_norm_at(jnp.zeros_like(W), here) / radius))
    low = high - 1.0
    while above(low) < 0:
        high, low = low, low - 2.0
        if low < np.log(_LEAST_RIDGE):
            return _LEAST_RIDGE
    return float(np.exp(brentq(above, low, high, xtol=tolerance)))


@jax.jit
def _gradient_norm_at(W: Array, here: Landscape) -> Array:
    return jnp.linalg.norm(slope_at(W, here).gradient)


@jax.jit
def _ridge_minimiser(
    W: Array, lam: Array, here: Landscape, tolerance: Array
) -> tuple[Array, Array]:
    """Newton's method on ∇CE(W) + λ W = 0, each step halved until its norm falls.

    Returns:
        W and its relative stationarity.
    """
    H, context_probs, _ = here[:3]

    def stationary(W: Array) -> Array:
        return slope_at(W, here).gradient + lam * W

    def newton_step(W: Array, residual: Array) -> Array:
        softmax = jax.nn.softmax(W @ H, axis=0)

        def hessian(D: Array) -> Array:
            logits = D @ H
            spread = softmax * (logits - jnp.sum(softmax * logits, axis=0, keepdims=True))
            return (context_probs[None] * spread) @ H.T + lam * D

        return cg(hessian, residual, tol=1e-6, maxiter=_CG_STEPS)[0]

    def one_step(carry: tuple) -> tuple:
        steps, W, residual, _ = carry
        change, now = newton_step(W, residual), jnp.linalg.norm(residual)

        def too_long(length: Array) -> Array:
            return (jnp.linalg.norm(stationary(W - length * change)) >= now) & (length > 1e-9)

        length = lax.while_loop(too_long, lambda length: length / 2, jnp.ones(()))
        W = jnp.where(length > 1e-9, W - length * change, W)
        return steps + 1, W, stationary(W), length

    def unfinished(carry: tuple) -> Array:
        steps, W, residual, length = carry
        size = lam * jnp.linalg.norm(W)
        far = jnp.linalg.norm(residual) > tolerance * size
        return far & (length > 1e-9) & (steps < _NEWTON_STEPS)

    start = (jnp.zeros((), int), W, stationary(W), jnp.ones(()))
    _, W, residual, _ = lax.while_loop(unfinished, one_step, start)
    return W, jnp.linalg.norm(residual) / (lam * jnp.linalg.norm(W))
