"""Margin control on the label's log-odds u = f_k - log Σ_{c≠k} exp f_c, Dice, spectral decoupling.

Puli et al. 2023 (MARG-CTRL, arXiv:2308.12553) define these losses for a binary label y = ±1 and one
score f, with margin yf. At V = 2, u is that margin; for V > 2 we substitute u for it. Nats per
token; nothing is reduced.
"""

from typing import Annotated

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, ScalarLike

from el_jax.losses.cross_entropy import cross_entropy
from el_jax.losses.stats import TokenStats, label_log_odds, of_stats
from el_jax.numbers import Number


@of_stats
def marg_log(
    stats: TokenStats, *, lam: Annotated[ScalarLike, Number(1.0, at_least=0, symbol="λ")]
) -> Float[Array, "*batch"]:
    """CE + λ log(1 + u²) (Puli et al. 2023, arXiv:2308.12553).

    E1 is the other multi-class form of this loss: its penalty uses each gap f_k - f_c, not only
    their log-sum.
    """
    return cross_entropy(stats) + lam * jnp.log1p(jnp.square(label_log_odds(stats)))


@of_stats
def sigma_damp(
    stats: TokenStats, *, temperature: Annotated[ScalarLike, Number(2.0, above=0, symbol="T")]
) -> Float[Array, "*batch"]:
    """softplus(-z) with z = u (1 - sigmoid(u/T)): CE on log-odds damped once they are large.

    Least at u = 1.2785 T and back to log 2 as u → ∞ (Puli et al. 2023, arXiv:2308.12553). This form
    omits the factor 1.278 that some use to put the minimum at u = 1.

    Args:
        stats: statistics of each token.
        temperature: T > 0, in nats; the scale of u at which damping starts.
    """
    u = label_log_odds(stats)
    return jax.nn.softplus(-u * jax.nn.sigmoid(-u / temperature))


@of_stats
def dice(
    stats: TokenStats,
    *,
    alpha: Annotated[ScalarLike, Number(0.01, above=0, below=1, symbol="α")],
    smooth: Annotated[ScalarLike, Number(1.0, at_least=0, symbol="γ")],
) -> Float[Array, "*batch"]:
    """1 - (2q + γ) / (q + 1 + γ), q = (1 - p_k)^α p_k (Li et al. 2020, arXiv:1911.02855).

    Least at p_k = 1 / (1 + α), the finite log-odds -log α: a bounded margin under another name.
    This is the label's term alone, for each token by itself; in the released code a batch shares
    one denominator. Near p_k = 0 its gradient is that of p_k, so learning starts slowly.
    """
    u = label_log_odds(stats)
    q = jnp.exp(alpha * jax.nn.log_sigmoid(-u)) * jax.nn.sigmoid(u)
    return (1 - q) / (q + 1 + smooth)


@of_stats
def spectral_decoupling(
    stats: TokenStats, *, lam: Annotated[ScalarLike, Number(0.1, at_least=0, symbol="λ")]
) -> Float[Array, "*batch"]:
    """CE + (λ/2) ‖f - mean_c f_c‖² = CE + (λ/2) V Var_c(f_c).

    This is E2 with λ_E2 = λV/2. The original (Pezeshki et al. 2021, arXiv:2011.09468) does not
    centre: (λ/2)‖f‖², here :func:`~el_jax.losses.square.logit_penalty` with β = λ. The two differ
    by (λ/2) V mean², which acts only on the common shift of the logits, which softmax ignores.
    """
    return cross_entropy(stats) + lam / 2 * stats.num_classes * stats.variance
