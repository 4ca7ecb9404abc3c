"""The statistics of a token's logits that determine every loss of this package.

A loss sees :class:`TokenStats`, never logits, so one pass over the vocabulary (sharded, or fused
with the output head) serves all of them. Letters: f logits [V], k the label, c any class.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple, ParamSpec

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Integer, ScalarLike


class TokenStats(NamedTuple):
    """Statistics of a token's logits ``f [V]`` and label ``k``, a loss's only input. In nats.

    A pytree with seven leaves. ``num_classes`` is part of its structure, as the length of V is part
    of a shape: a plain int that jit treats as static and that vmap, grad and scan leave alone.
    Stats of different V therefore have different structures and cannot share one tree.map.

    Attributes:
        label_logit: f_k, ``[*batch]``.
        logsumexp: log Σ_c exp f_c, ``[*batch]``.
        logsumexp_other: log Σ_{c≠k} exp f_c, ``[*batch]``. Summed over c≠k directly, never by
            subtraction, so that f_k - logsumexp_other keeps its digits when p_k is near 1.
        mean: (1/V) Σ_c f_c, label included, ``[*batch]``.
        variance: (1/V) Σ_c (f_c - mean)², label included, ``[*batch]``.
        max_other: max_{c≠k} f_c, ``[*batch]``.
        entropy_other: entropy of the softmax over c≠k, ``[*batch]``. NaN from the fused paths, so
            that losses which read it form the logits.
        num_classes: V.
    """

    label_logit: Float[Array, "*batch"]
    logsumexp: Float[Array, "*batch"]
    logsumexp_other: Float[Array, "*batch"]
    mean: Float[Array, "*batch"]
    variance: Float[Array, "*batch"]
    max_other: Float[Array, "*batch"]
    entropy_other: Float[Array, "*batch"]
    num_classes: int


jax.tree_util.register_dataclass(
    TokenStats,
    data_fields=[name for name in TokenStats._fields if name != "num_classes"],
    meta_fields=["num_classes"],
)


P = ParamSpec("P")


def of_stats(loss: Callable[P, Array]) -> Callable[P, Array]:
    """Make a loss raise for anything but ``TokenStats``, such as logits, and say what to call."""

    @functools.wraps(loss)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Array:
        if args and not isinstance(args[0], TokenStats):
            raise TypeError(
                f"{loss.__name__} takes TokenStats, not {type(args[0]).__name__}: call "
                "token_stats(logits, labels) first"
            )
        return loss(*args, **kwargs)

    return checked


def token_stats(
    logits: Float[Array, "*batch V"],
    labels: Integer[Array, "*batch"],
    *,
    temperature: ScalarLike = 1.0,
) -> TokenStats:
    """Statistics of every token, in float32 (float64 for float64 logits).

    Two reductions over V, each of which XLA fuses: sum and maximum, then centred squares and
    exponentials. The label is picked by a mask, not a gather, so V may be sharded.

    Args:
        logits: scores in nats, any float type.
        labels: index of the correct class, 0..V-1. Any other value makes the token's stats NaN;
            under a loss mask, fill with a valid class.
        temperature: the logits are divided by it before anything else; training with T≠1 is the
            temperature baseline.

    Raises:
        ValueError: if the shapes disagree or V < 2.
        TypeError: if the labels are not integers.
    """
    num_classes = logits.shape[-1]
    if logits.shape[:-1] != labels.shape:
        raise ValueError(f"labels {labels.shape} must be the leading axes of logits {logits.shape}")
    if not jnp.issubdtype(labels.dtype, jnp.integer):
        raise TypeError(f"labels are {labels.dtype}: must be integers, indices of classes")
    _check_num_classes(num_classes)
    labels = wide_labels(labels)
    scores = logits.astype(jnp.promote_types(logits.dtype, jnp.float32)) / temperature
    is_label = jax.nn.one_hot(labels, num_classes, dtype=bool)
    # Without a label to pick, a silent 0 would train on nothing; NaN shows at once.
    in_range = (labels >= 0) & (labels < num_classes)
    label_logit = jnp.where(in_range, jnp.where(is_label, scores, 0).sum(axis=-1), jnp.nan)
    others = jnp.where(is_label, -jnp.inf, scores)
    logsumexp_other = jax.nn.logsumexp(others, axis=-1)
    log_q = jnp.where(is_label, 0, scores - logsumexp_other[..., None])
    mean = scores.mean(axis=-1, keepdims=True)
    return TokenStats(
        label_logit=label_logit,
        logsumexp=jnp.logaddexp(label_logit, logsumexp_other),
        logsumexp_other=logsumexp_other,
        mean=mean[..., 0],
        variance=jnp.square(scores - mean).mean(axis=-1),
        max_other=others.max(axis=-1),
        entropy_other=-(jnp.exp(log_q) * log_q).sum(axis=-1),
        num_classes=num_classes,
    )


def wide_labels(labels: Integer[Array, "*batch"]) -> Int[Array, "*batch"]:
    """The labels in int32 or wider: in uint8, class 259 would be class 3."""
    return labels.astype(jnp.promote_types(labels.dtype, jnp.int32))


def symmetric_stats(
    margin: Float[Array, "*batch"],
    num_classes: int,
    *,
    wrong_logit: ScalarLike | Float[Array, "*batch"] = 0.0,
) -> TokenStats:
    """Statistics of a token whose wrong logits are all equal, in closed form.

    Args:
        margin: f_k - f_c, in nats.
        num_classes: V.
        wrong_logit: f_c for every c≠k.

    Raises:
        ValueError: if ``num_classes`` < 2.
    """
    _check_num_classes(num_classes)
    wrong = jnp.zeros_like(margin) + wrong_logit
    label_logit = wrong + margin
    logsumexp_other = wrong + math.log(num_classes - 1)
    return TokenStats(
        label_logit=label_logit,
        logsumexp=jnp.logaddexp(label_logit, logsumexp_other),
        logsumexp_other=logsumexp_other,
        mean=wrong + margin / num_classes,
        variance=jnp.square(margin) * ((num_classes - 1) / num_classes**2),
        max_other=wrong,
        entropy_other=jnp.full_like(wrong, math.log(num_classes - 1)),
        num_classes=num_classes,
    )


def label_log_odds(stats: TokenStats) -> Float[Array, "*batch"]:
    """Log-odds of the label, u = log p_k / (1 - p_k) = f_k - logsumexp_other, in nats."""
    return stats.label_logit - stats.logsumexp_other


def entropy(stats: TokenStats) -> Float[Array, "*batch"]:
    """Entropy of the predicted distribution, -Σ_c p_c log p_c, in nats."""
    u = label_log_odds(stats)
    wrong = jax.nn.sigmoid(-u)
    return (1 - wrong) * jax.nn.softplus(-u) + wrong * (jax.nn.softplus(u) + stats.entropy_other)


def variance_other(stats: TokenStats) -> Float[Array, "*batch"]:
    """Population variance of the V-1 wrong logits.

    Computed by subtracting the label's share from ``variance``, so its rounding error is about
    float eps · (f_k - mean)² / V.
    """
    v = stats.num_classes
    if v == 2:  # one wrong logit; rounding would leave part of the label's share
        return jnp.zeros_like(stats.variance)
    return v / (v - 1) * (stats.variance - jnp.square(stats.label_logit - stats.mean) / (v - 1))


def square_sum_other(stats: TokenStats, *, target: ScalarLike) -> Float[Array, "*batch"]:
    """Squared distance of the wrong logits from one target, Σ_{c≠k} (f_c - target)².

    Computed by subtracting the label's share from the sum over V, so its rounding error is about
    float eps · (f_k - target)².
    """
    total = stats.num_classes * (stats.variance + jnp.square(stats.mean - target))
    return total - jnp.square(stats.label_logit - target)


def _check_num_classes(num_classes: int) -> None:
    if num_classes < 2:
        raise ValueError(f"num_classes={num_classes} must be at least 2: a label and another class")
