"""Losses of a token that depend on the other tokens of its update."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, ScalarLike

from el_jax.losses.stats import TokenStats, of_stats
from el_jax.numbers import Number


@of_stats
def mann_whitney(
    stats: TokenStats,
    mask: Bool[Array, "*batch"],
    *,
    tau: Annotated[ScalarLike, Number(1.0, above=0, symbol="τ")],
) -> Float[Array, "*batch"]:
    """mean_j log(1 + exp(-(s_i - t_j) / τ)) for token i: every label above every wrong class.

    s_i = f_k - mean_c f_c is the score of token i's label, t_j = max_{c≠k} f_c - mean_c f_c that of
    token j's strongest wrong class. The mean over tokens is at least log(2) (1 - AUC), where AUC is
    the probability that a label's score is above such a class's, one of any token (arXiv
    2510.00137). With one token it is a pairwise logistic loss. Scores are centred, since a context
    leaves the shift of its logits free. N tokens make N² pairs.

    Args:
        stats: statistics of every token.
        mask: True for supervised tokens; the others are in no pair, and their loss is 0.
        tau: temperature.
    """
    label, wrong = stats.label_logit - stats.mean, stats.max_other - stats.mean
    gaps = label.reshape(-1, 1) - wrong.reshape(1, -1)
    counts = mask.reshape(1, -1)
    losses = jnp.where(counts, jax.nn.softplus(-gaps / tau), 0).sum(1) / jnp.maximum(
        counts.sum(), 1
    )
    return jnp.where(mask, losses.reshape(mask.shape), 0)
