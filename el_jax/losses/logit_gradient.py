"""The size of a loss's gradient with respect to a token's logits, without the logits.

A loss sees the logits through its :class:`TokenStats` only, so its gradient is a combination of the
gradients of these statistics, and the squared norm of that combination needs their inner products.
With q the softmax over the wrong classes, all of them follow from the statistics and two more
numbers, Σ q² and Σ q f.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Integer, ScalarLike

from el_jax.losses.gradients import TokenLoss
from el_jax.losses.stats import TokenStats, label_log_odds, variance_other, wide_labels


class SoftmaxMoments(NamedTuple):
    """Moments of q, the softmax over the wrong classes: q_c = p_c / (1 - p_k) for c≠k, q_k = 0.

    Attributes:
        collision: Σ_c q_c², the probability that two draws agree, ``[*batch]``.
        mean_logit: Σ_c q_c f_c in nats, ``[*batch]``.
    """

    collision: Float[Array, "*batch"]
    mean_logit: Float[Array, "*batch"]


def softmax_moments(
    logits: Float[Array, "*batch V"],
    labels: Integer[Array, "*batch"],
    *,
    temperature: ScalarLike = 1.0,
) -> SoftmaxMoments:
    """The moments of every token, from its logits, in float32 (float64 for float64 logits).

    Args:
        logits: scores in nats, any float type.
        labels: index of the correct class.
        temperature: the logits are divided by it.
    """
    scores = logits.astype(jnp.promote_types(logits.dtype, jnp.float32)) / temperature
    is_label = jax.nn.one_hot(wide_labels(labels), logits.shape[-1], dtype=bool)
    q = jax.nn.softmax(jnp.where(is_label, -jnp.inf, scores), axis=-1)
    mean_logit = jnp.where(is_label, 0, q * scores).sum(axis=-1)
    return SoftmaxMoments(jnp.square(q).sum(axis=-1), mean_logit)


def squared_gradient_norm(
    loss: TokenLoss, stats: TokenStats, moments: SoftmaxMoments
) -> Float[Array, "*batch"]:
    """‖dL/df‖² of each token, f its logits ``[V]``; for cross-entropy that is ‖p - onehot‖².

    Exact but for rounding. The gradient is split into its entry at the label, the mean of its other
    entries, and their deviations from that mean. If every term of the loss pulls high wrong logits
    down, these deviations are sums of numbers of one sign.

    If several wrong classes share ``max_other``, its gradient is assigned to one of them.

    Args:
        loss: maps stats to one loss per token, ``[*batch]``, which depends on that token only. If
            it reads ``entropy_other``, the result is NaN.
        stats: statistics of each token.
        moments: moments of each token, at the same temperature.
    """
    by = jax.grad(lambda fields: loss(fields).sum())(stats)
    v = stats.num_classes
    p_label = jax.nn.sigmoid(label_log_odds(stats))
    # dL/df = at_label e_k + on_q q + on_top e_top + by.mean / V + tilt (f - mean)
    at_label = by.label_logit + by.logsumexp * p_label
    on_q = by.logsumexp_other + by.logsumexp * (1 - p_label)
    on_top = by.max_other
    tilt = 2 / v * by.variance
    label_gap = stats.label_logit - stats.mean
    label_entry = at_label + by.mean / v + tilt * label_gap
    mean_entry = (on_q + on_top + by.mean * (v - 1) / v - tilt * label_gap) / (v - 1)
    # inner products of q, e_top and f over the wrong classes, each minus its mean there
    mean_other = stats.mean - label_gap / (v - 1)
    q_top = jnp.exp(stats.max_other - stats.logsumexp_other)
    deviation = (
        jnp.square(on_q) * (moments.collision - 1 / (v - 1))
        + jnp.square(on_top) * (1 - 1 / (v - 1))
        + jnp.square(tilt) * (v - 1) * variance_other(stats)
        + 2 * on_q * on_top * (q_top - 1 / (v - 1))
        + 2 * on_q * tilt * (moments.mean_logit - mean_other)
        + 2 * on_top * tilt * (stats.max_other - mean_other)
    )
    deviation = jnp.where(by.entropy_other == 0, deviation, jnp.nan)
    # The deviation is a square norm; rounding may leave it a little below 0.
    return jnp.square(label_entry) + (v - 1) * jnp.square(mean_entry) + jnp.maximum(deviation, 0)
