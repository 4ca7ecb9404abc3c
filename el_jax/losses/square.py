"""Losses with squared logits: they depend on the logits' values, not only on differences.

Per token; nothing is reduced.
"""

from typing import Annotated

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, ScalarLike

from el_jax.losses.cross_entropy import cross_entropy
from el_jax.losses.stats import TokenStats, of_stats, square_sum_other
from el_jax.numbers import Number


@of_stats
def squentropy(stats: TokenStats) -> Float[Array, "*batch"]:
    """CE + (1/(V-1)) Σ_{c≠k} f_c² (Hui, Belkin & Wright 2023, arXiv:2302.03952)."""
    return cross_entropy(stats) + square_sum_other(stats, target=0.0) / (stats.num_classes - 1)


@of_stats
def rescaled_square(
    stats: TokenStats,
    *,
    scale: Annotated[ScalarLike, Number(1.0, above=0, symbol="k")],
    target: Annotated[ScalarLike, Number(1.0, symbol="M")],
) -> Float[Array, "*batch"]:
    """(1/V) [scale (f_k - target)² + Σ_{c≠k} f_c²], no softmax.

    Source: Hui & Belkin 2021, arXiv:2006.07322.

    Args:
        stats: statistics of each token.
        scale: weight of the label's term, k in the paper.
        target: target of the label's logit, M in the paper; all others have target 0.
    """
    label_term = jnp.square(stats.label_logit - target) * scale
    return (label_term + square_sum_other(stats, target=0.0)) / stats.num_classes


@of_stats
def logit_penalty(
    stats: TokenStats, *, beta: Annotated[ScalarLike, Number(2e-3, at_least=0, symbol="β")]
) -> Float[Array, "*batch"]:
    """CE + (β/2) ‖f‖² (Kornblith et al. 2021, arXiv:2010.16402).

    Centred at the mean logit, it is :func:`~el_jax.losses.margin.spectral_decoupling`.
    """
    square_norm = stats.num_classes * (stats.variance + jnp.square(stats.mean))
    return cross_entropy(stats) + beta / 2 * square_norm
