"""Mean and variance of a token's logits as quadratic forms in its hidden state.

With logits f_c = h·W_c + β_c, the variance over classes is h'Ch + 2h·γ + ν, where C [D, D], γ [D]
and ν are the covariances of the columns W_c and biases β_c, computed once for all tokens. So the
squared losses (E3 among them) and the penalties of E1 and E2 take O((T+V)D²) operations and never
form the T×V logits; they are in the "spherical family" of Vincent, de Brébisson & Bouthillier 2015,
arXiv:1412.7091.
"""

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from el_jax.losses.vocab_pass import mean_logits, wide_type


def gram_moments(
    hidden: Float[Array, "T D"],
    head: Float[Array, "D V"],
    bias: Float[Array, " V"] | None,
    *,
    precision: str | None = None,
) -> tuple[Float[Array, " T"], Float[Array, " T"]]:
    """Mean and population variance over classes of the logits ``hidden @ head + bias``.

    Plain operations, differentiable to any order in either mode. The head is centred before it is
    squared, so the common part of its columns need not cancel. The variance carries a rounding
    error of about float eps · |h|² · |C|.

    Args:
        hidden: one row per token.
        head: one column per class.
        bias: one number per class, or None.
        precision: precision of the products, as in ``jnp.matmul``.
    """
    wide = wide_type(hidden, head)
    rows, columns, num_classes = hidden.astype(wide), head.astype(wide), head.shape[1]
    columns = columns - columns.mean(axis=1, keepdims=True)
    covariance = jnp.matmul(columns, columns.T, precision=precision) / num_classes
    mean = mean_logits(hidden, head, bias)
    variance = (jnp.matmul(rows, covariance, precision=precision) * rows).sum(axis=1)
    if bias is None:
        return mean, variance
    offsets = bias - bias.mean()
    with_bias = jnp.matmul(columns, offsets, precision=precision) / num_classes
    cross = 2 * jnp.matmul(rows, with_bias, precision=precision)
    return mean, variance + cross + jnp.square(offsets).mean()


def picked_logits(
    hidden: Float[Array, "T D"],
    head: Float[Array, "D V"],
    bias: Float[Array, " V"] | None,
    classes: Int[Array, " T"],
) -> Float[Array, " T"]:
    """The logit of one class per token, ``h · W_c + β_c``, from that column of the head alone."""
    wide = wide_type(hidden, head)
    columns = head.T[classes].astype(wide)
    logits = (hidden.astype(wide) * columns).sum(axis=1)
    return logits if bias is None else logits + bias[classes]
