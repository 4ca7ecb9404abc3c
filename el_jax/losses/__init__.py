"""Per-token losses as functions of token statistics, in nats.

    stats = token_stats(logits, labels)
    loss = e1(stats, lam=1.0)  # one value for each token

f logits, k the label, m_c = f_k - f_c, u = f_k - log Σ_{c≠k} exp f_c the label's log-odds, V the
number of classes, Var_c and mean_c over all V:

=========================  =====================================================================
cross_entropy              CE = -log p_k = log(1 + exp(-u))
e1                         CE + λ log(1 + mean_{c≠k} m_c²)
e2                         CE + λ Var_c(f_c)
e3                         (f_k - b)² + Σ_{c≠k} (f_c + b)²
label_smoothing            CE + ε (f_k - mean_c f_c)
confidence_penalty         CE - β H(p), with the entropy H(p) = -Σ_c p_c log p_c
focal                      (1 - p_k)^γ CE
poly1                      CE + ε (1 - p_k)
comp_sum                   (p_k^(τ-1) - 1) / (1 - τ); CE at τ = 1
z_loss                     CE + λ (log Σ_c exp f_c)²
max_sup                    CE + α (max_c f_c - mean_c f_c)
marg_log                   CE + λ log(1 + u²)
sigma_damp                 log(1 + exp(-z)), z = u (1 - sigmoid(u / T))
dice                       (1 - q) / (q + 1 + γ), q = (1 - p_k)^α p_k
spectral_decoupling        CE + (λ/2) V Var_c(f_c)
squentropy                 CE + mean_{c≠k} f_c²
rescaled_square            (k (f_k - M)² + Σ_{c≠k} f_c²) / V
logit_penalty              CE + (β/2) Σ_c f_c²
z_spherical                (1/a) log(1 + exp(a (b - z))), z = (f_k - mean_c f_c) / Var_c^½
taylor_softmax             -log (1 + f_k + f_k²/2) / Σ_c (1 + f_c + f_c²/2)
spherical_softmax          -log (f_k² + ε) / Σ_c (f_c² + ε)
=========================  =====================================================================

A loss is one function, ``loss(stats, *, <numbers>) -> [*batch]``, and one line of ``TOKEN_LOSSES``.
Each number declares its published value, range and symbol at the parameter (``el_jax.numbers``),
has no default in Python, may be traced and may differ between runs. No loss reduces over tokens
(``reduce.py``). ``TokenStats`` holds the statistics of the logits that determine every loss
(``stats.py``).

A batch loss also takes the mask of supervised tokens, ``loss(stats, mask, *, <numbers>)``, and a
token's value may depend on all of them; its line is in ``BATCH_LOSSES``.
"""

from collections import ChainMap
from collections.abc import Callable

from jax import Array

from el_jax.losses.batch import mann_whitney
from el_jax.losses.cross_entropy import (
    comp_sum,
    confidence_penalty,
    cross_entropy,
    focal,
    label_smoothing,
    max_sup,
    poly1,
    z_loss,
)
from el_jax.losses.equal_learning import e1, e2, e3, mean_square_gap
from el_jax.losses.fused import (
    VOCAB_CHUNK,
    Path,
    choose_path,
    fused_stats_and_moments,
    reads,
)
from el_jax.losses.gradients import (
    TokenLoss,
    equilibrium_margins,
    gradient_weight,
    label_gradient,
)
from el_jax.losses.logit_gradient import (
    SoftmaxMoments,
    softmax_moments,
    squared_gradient_norm,
)
from el_jax.losses.margin import dice, marg_log, sigma_damp, spectral_decoupling
from el_jax.losses.reduce import masked_mean, masked_sum_and_count
from el_jax.losses.spherical import spherical_softmax, taylor_softmax, z_spherical
from el_jax.losses.square import logit_penalty, rescaled_square, squentropy
from el_jax.losses.stats import (
    TokenStats,
    entropy,
    label_log_odds,
    of_stats,
    square_sum_other,
    symmetric_stats,
    token_stats,
    variance_other,
)

TOKEN_LOSSES: dict[str, Callable[..., Array]] = {
    "cross_entropy": cross_entropy,
    "e1": e1,
    "e2": e2,
    "e3": e3,
    "label_smoothing": label_smoothing,
    "confidence_penalty": confidence_penalty,
    "focal": focal,
    "poly1": poly1,
    "comp_sum": comp_sum,
    "z_loss": z_loss,
    "max_sup": max_sup,
    "marg_log": marg_log,
    "sigma_damp": sigma_damp,
    "dice": dice,
    "spectral_decoupling": spectral_decoupling,
    "squentropy": squentropy,
    "rescaled_square": rescaled_square,
    "logit_penalty": logit_penalty,
    "z_spherical": z_spherical,
    "taylor_softmax": taylor_softmax,
    "spherical_softmax": spherical_softmax,
}
BATCH_LOSSES: dict[str, Callable[..., Array]] = {"mann_whitney": mann_whitney}
ALL_LOSSES = ChainMap(TOKEN_LOSSES, BATCH_LOSSES)

__all__ = [
    "ALL_LOSSES",
    "BATCH_LOSSES",
    "TOKEN_LOSSES",
    "VOCAB_CHUNK",
    "Path",
    "SoftmaxMoments",
    "TokenLoss",
    "TokenStats",
    "choose_path",
    "comp_sum",
    "confidence_penalty",
    "cross_entropy",
    "dice",
    "e1",
    "e2",
    "e3",
    "entropy",
    "equilibrium_margins",
    "focal",
    "fused_stats_and_moments",
    "gradient_weight",
    "label_gradient",
    "label_log_odds",
    "label_smoothing",
    "logit_penalty",
    "mann_whitney",
    "marg_log",
    "masked_mean",
    "masked_sum_and_count",
    "max_sup",
    "mean_square_gap",
    "of_stats",
    "poly1",
    "reads",
    "rescaled_square",
    "sigma_damp",
    "softmax_moments",
    "spectral_decoupling",
    "spherical_softmax",
    "square_sum_other",
    "squared_gradient_norm",
    "squentropy",
    "symmetric_stats",
    "taylor_softmax",
    "token_stats",
    "variance_other",
    "z_loss",
    "z_spherical",
]
