"""Cross-entropy and the baselines that modify it. Nats per token; nothing is reduced.

Notation: u = f_k - log Σ_{c≠k} exp f_c, the log-odds of the label, so p_k = sigmoid(u).
"""

from typing import Annotated

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, ScalarLike

from el_jax.losses.stats import TokenStats, entropy, label_log_odds, of_stats
from el_jax.numbers import Number

_NEAR_ONE = 1e-4  # distance of τ from 1 up to which cross-entropy's series is exact to float32


@of_stats
def cross_entropy(stats: TokenStats) -> Float[Array, "*batch"]:
    """Negative log-likelihood of the label, -log p_k = softplus(-u), in nats.

    In this form a loss of 1e-12 is still correct to float precision, while
    ``logsumexp - label_logit`` rounds it to 0.
    """
    return jax.nn.softplus(-label_log_odds(stats))


@of_stats
def label_smoothing(
    stats: TokenStats,
    *,
    smoothing: Annotated[ScalarLike, Number(0.1, at_least=0, below=1, symbol="ε")],
) -> Float[Array, "*batch"]:
    """Cross-entropy against (1-ε) onehot + ε uniform: CE + ε (f_k - mean_c f_c), in nats.

    The uniform part covers all V classes, label included (Szegedy et al. 2016, sec. 7,
    arXiv:1512.00567).
    """
    return cross_entropy(stats) + smoothing * (stats.label_logit - stats.mean)


@of_stats
def confidence_penalty(
    stats: TokenStats, *, beta: Annotated[ScalarLike, Number(0.1, at_least=0, symbol="β")]
) -> Float[Array, "*batch"]:
    """CE - β H(p): confident predictions cost something (Pereyra et al. 2017, arXiv:1701.06548)."""
    return cross_entropy(stats) - beta * entropy(stats)


@of_stats
def focal(
    stats: TokenStats, *, gamma: Annotated[ScalarLike, Number(2.0, at_least=0, symbol="γ")]
) -> Float[Array, "*batch"]:
    """Focal loss (1-p_k)^γ CE (Lin et al. 2017, arXiv:1708.02002), in nats.

    The weight is the exponential of γ log(1-p_k): smooth at p_k = 1 for any γ ≥ 0.
    """
    return jnp.exp(gamma * jax.nn.log_sigmoid(-label_log_odds(stats))) * cross_entropy(stats)


@of_stats
def poly1(
    stats: TokenStats, *, epsilon: Annotated[ScalarLike, Number(1.0, at_least=-1, symbol="ε")]
) -> Float[Array, "*batch"]:
    """CE + ε (1-p_k), the Poly-1 loss (Leng et al. 2022, arXiv:2204.12511).

    CE is Σ_j (1-p_k)^j / j; ε, in nats, is added to its first coefficient.
    """
    return cross_entropy(stats) + epsilon * jax.nn.sigmoid(-label_log_odds(stats))


@of_stats
def comp_sum(
    stats: TokenStats, *, tau: Annotated[ScalarLike, Number(1.7, at_least=0, at_most=2, symbol="τ")]
) -> Float[Array, "*batch"]:
    """(p_k^(τ-1) - 1) / (1 - τ), cross-entropy at τ = 1 (Mao, Mohri, Zhong 2023, arXiv:2304.07288).

    τ = 0 is the sum of exponentials Σ_{c≠k} exp(f_c - f_k), τ = 2 the probability of error 1 - p_k,
    and τ between 1 and 2 is generalised cross-entropy (1 - p_k^q) / q with q = τ - 1, published
    with q = .7 (Zhang & Sabuncu 2018, arXiv:1805.07836). Each token has weight p_k^(τ-1) (1 - p_k).
    """
    ce, power = cross_entropy(stats), 1 - jnp.asarray(tau)
    near = jnp.abs(power) < _NEAR_ONE
    apart = jnp.where(near, 1.0, power)
    series = ce * (1 + power * ce / 2)  # series of expm1, whose quotient has no digits there
    # no overflow in the branch that is not taken, whose gradient would be 0 times infinity
    far = jnp.where(near, 0.0, ce)
    return jnp.where(near, series, jnp.expm1(apart * far) / apart)


@of_stats
def z_loss(
    stats: TokenStats, *, lam: Annotated[ScalarLike, Number(1e-4, at_least=0, symbol="λ")]
) -> Float[Array, "*batch"]:
    """CE + λ (log Σ_c exp f_c)², which pins the shift of the logits.

    λ is per nat (PaLM, Chowdhery et al. 2022, sec. 5, arXiv:2204.02311).
    """
    return cross_entropy(stats) + lam * jnp.square(stats.logsumexp)


@of_stats
def max_sup(
    stats: TokenStats, *, alpha: Annotated[ScalarLike, Number(0.1, at_least=0, symbol="α")]
) -> Float[Array, "*batch"]:
    """CE + α (max_c f_c - mean_c f_c): label smoothing that also acts on misclassified tokens.

    The maximum is over all V classes, label included (Zhou et al. 2025, arXiv:2502.15798).
    """
    top = jnp.maximum(stats.label_logit, stats.max_other)
    return cross_entropy(stats) + alpha * (top - stats.mean)
