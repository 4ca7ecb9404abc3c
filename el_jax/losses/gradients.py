"""A loss's gradient with respect to the label's logit, and its equilibrium margins."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from el_jax.losses.stats import TokenStats, label_log_odds, symmetric_stats
from el_jax.process.double_precision import float64

TokenLoss = Callable[[TokenStats], Float[Array, "*batch"]]  # keyword parameters already bound

MARGIN_RANGE = (-64.0, 64.0)  # nats
GRID_INTERVALS = 2**13  # extrema of a loss less than 1/64 nat apart are not resolved
SLOPE_NOISE = 1e-10  # smaller derivatives may be rounding: their sign is ignored
SHIFT_ERROR = 1e-4  # nats; a common shift further from its best value is not that value
ZOOMS = 4  # refinements of the grid in each bracket: 1/64 nat / GRID_INTERVALS⁴ is below rounding


def label_gradient(loss: TokenLoss, stats: TokenStats) -> Float[Array, "*batch"]:
    """dL/df_k of each token by the chain rule through its stats; no logits needed.

    Args:
        loss: maps stats to one loss per token, ``[*batch]``, which depends on that token only.
        stats: statistics of each token.
    """
    by = jax.grad(lambda fields: loss(fields).sum())(stats)
    v = stats.num_classes
    label_probability = jax.nn.sigmoid(label_log_odds(stats))
    # logsumexp_other and max_other do not depend on f_k.
    return (
        by.label_logit
        + by.logsumexp * label_probability
        + by.mean / v
        + by.variance * 2 * (stats.label_logit - stats.mean) / v
    )


def gradient_weight(loss: TokenLoss, stats: TokenStats) -> Float[Array, "*batch"]:
    """Size of the loss's push on each token, abs(dL/df_k), which is 1 - p_k for cross-entropy."""
    return jnp.abs(label_gradient(loss, stats))


def equilibrium_margins(loss: TokenLoss, num_classes: int) -> tuple[float, ...]:
    """All margins m* = f_k - f_c at which the loss of a symmetric token has a local minimum.

    Symmetric: all wrong logits equal. Their common value is free, so a loss that depends on the
    shift of the logits is first minimised over it, in one Newton step: exact if the loss is
    quadratic in the shift or invariant to it, as every loss of this package is but the Taylor and
    the spherical softmax.

    The derivative in m is scanned in float64, on ``GRID_INTERVALS`` steps over ``MARGIN_RANGE``,
    for rises from below ``-SLOPE_NOISE`` to above ``SLOPE_NOISE``; the same grid then refines each
    bracket, ``ZOOMS`` times, until it is a point. Not traceable.

    Args:
        loss: maps stats to losses, ``[*batch]``.
        num_classes: V.

    Returns:
        The minima in nats, ascending; empty if the loss decreases for ever, as CE does.

    Raises:
        ValueError: if the loss depends on the shift in another way.
    """
    with float64():
        brackets = _rising_brackets(loss, num_classes, MARGIN_RANGE, noise=SLOPE_NOISE)
        for _ in range(ZOOMS):
            brackets = [_rising_brackets(loss, num_classes, pair)[0] for pair in brackets]
    return tuple((low + high) / 2 for low, high in brackets)


def _rising_brackets(
    loss: TokenLoss,
    num_classes: int,
    interval: tuple[float, float],
    *,
    noise: float = 0.0,
) -> list[tuple[float, float]]:
    """Pairs of grid points: the loss falls at the first and rises at the second.

    They are neighbours among the points whose slope exceeds ``noise`` in size.
    """
    margins = np.linspace(*interval, GRID_INTERVALS + 1)
    slopes = np.asarray(_margin_slope(loss, jnp.asarray(margins), num_classes))
    signed = np.abs(slopes) > noise
    margins, slopes = margins[signed], slopes[signed]
    rises = np.flatnonzero((slopes[:-1] < 0) & (slopes[1:] > 0))
    return [(float(margins[i]), float(margins[i + 1])) for i in rises]


def _margin_slope(
    loss: TokenLoss, margin: Float[Array, " n"], num_classes: int
) -> Float[Array, " n"]:
    """d/dm of min_s L(m, s), s the wrong logits' value: dL/dm at the minimising s (envelope)."""

    def value(margin: Float[Array, " n"], shift: Float[Array, " n"]) -> Float[Array, ""]:
        return loss(symmetric_stats(margin, num_classes, wrong_logit=shift)).sum()

    def shift_slope(shift: Float[Array, " n"]) -> Float[Array, " n"]:
        return jax.grad(value, argnums=1)(margin, shift)

    origin = jnp.zeros_like(margin)
    slope, curvature = jax.jvp(shift_slope, (origin,), (jnp.ones_like(origin),))
    # Without curvature in the shift the loss is invariant to it: a Newton step would divide by 0.
    depends = curvature > SLOPE_NOISE
    curvature = jnp.where(depends, curvature, 1)
    shift = jnp.where(depends, -slope / curvature, 0)
    left = jnp.where(depends, shift_slope(shift) / curvature, 0)
    if (jnp.abs(left) > SHIFT_ERROR).any():
        raise ValueError("loss: must be quadratic in the common shift of logits, or blind to it")
    return jax.grad(value)(margin, shift)
