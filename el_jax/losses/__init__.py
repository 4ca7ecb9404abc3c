"""Per-token losses as functions of token statistics; see ``stats.py`` for the statistics.

Every loss has the signature ``loss(stats, *, <strengths>) -> [*batch]``. Strengths have no defaults
(those belong to configs), may be traced, and may be swept under vmap; only string options have
defaults. No loss reduces over tokens: see ``reduce.py``.
"""

from collections.abc import Callable

from jax import Array

from el_jax.losses.cross_entropy import (
    cross_entropy,
    focal,
    generalised_cross_entropy,
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
    fused_token_stats,
    reads_softmax,
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
from el_jax.losses.margin import marg_log, sigma_damp, spectral_decoupling
from el_jax.losses.reduce import masked_mean, masked_sum_and_count
from el_jax.losses.square import logit_penalty, rescaled_square, squentropy
from el_jax.losses.stats import (
    TokenStats,
    label_log_odds,
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
    "focal": focal,
    "poly1": poly1,
    "generalised_cross_entropy": generalised_cross_entropy,
    "z_loss": z_loss,
    "max_sup": max_sup,
    "marg_log": marg_log,
    "sigma_damp": sigma_damp,
    "spectral_decoupling": spectral_decoupling,
    "squentropy": squentropy,
    "rescaled_square": rescaled_square,
    "logit_penalty": logit_penalty,
}

__all__ = [
    "TOKEN_LOSSES",
    "VOCAB_CHUNK",
    "Path",
    "SoftmaxMoments",
    "TokenLoss",
    "TokenStats",
    "choose_path",
    "cross_entropy",
    "e1",
    "e2",
    "e3",
    "equilibrium_margins",
    "focal",
    "fused_stats_and_moments",
    "fused_token_stats",
    "generalised_cross_entropy",
    "gradient_weight",
    "label_gradient",
    "label_log_odds",
    "label_smoothing",
    "logit_penalty",
    "marg_log",
    "masked_mean",
    "masked_sum_and_count",
    "max_sup",
    "mean_square_gap",
    "poly1",
    "reads_softmax",
    "rescaled_square",
    "sigma_damp",
    "softmax_moments",
    "spectral_decoupling",
    "square_sum_other",
    "squared_gradient_norm",
    "squentropy",
    "symmetric_stats",
    "token_stats",
    "variance_other",
    "z_loss",
]
