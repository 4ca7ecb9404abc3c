"""The spherical family: losses of the label's logit, the sum of logits and the sum of squares.

An output layer of width D computes them without forming its V logits (de Brébisson & Vincent 2016,
arXiv:1511.05042 and 1604.08859). Only the two softmaxes are likelihoods. In nats.
"""

from typing import Annotated

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, ScalarLike

from el_jax.losses.stats import TokenStats, of_stats
from el_jax.numbers import Number

_LEAST_VARIANCE = 1e-12  # for equal logits, whose standard score would be 0 / 0


@of_stats
def z_spherical(
    stats: TokenStats,
    *,
    a: Annotated[ScalarLike, Number(1.0, above=0)],
    b: Annotated[ScalarLike, Number(0.0)],
) -> Float[Array, "*batch"]:
    """The Z-loss (1/a) softplus(a (b - z)), z the label's standard score (f_k - mean_c f_c) / std.

    Larger logits change nothing, and z is at most sqrt(V - 1): keep b below it (de Brébisson &
    Vincent 2016, arXiv:1604.08859; their timings use a = 1 and b = 0). Logits must not start equal,
    as those of a lookup table do: the gradient is huge there, and small wherever its step leads.
    ``z_loss`` is a different loss.
    """
    score = (stats.label_logit - stats.mean) / jnp.sqrt(stats.variance + _LEAST_VARIANCE)
    return jax.nn.softplus(a * (b - score)) / a


@of_stats
def taylor_softmax(stats: TokenStats) -> Float[Array, "*batch"]:
    """-log (1 + f_k + f_k²/2) / Σ_c (1 + f_c + f_c²/2) (Vincent et al. 2015, arXiv:1412.7091)."""
    label = 1 + stats.label_logit + jnp.square(stats.label_logit) / 2
    mean = 1 + stats.mean + _mean_square(stats) / 2
    return jnp.log(stats.num_classes * mean) - jnp.log(label)


@of_stats
def spherical_softmax(
    stats: TokenStats, *, epsilon: Annotated[ScalarLike, Number(1e-3, above=0, symbol="ε")]
) -> Float[Array, "*batch"]:
    """-log (f_k² + ε) / Σ_c (f_c² + ε) (de Brébisson & Vincent 2016, arXiv:1511.05042).

    ε is our choice: the paper says only that it is small.
    """
    mean = _mean_square(stats) + epsilon
    return jnp.log(stats.num_classes * mean) - jnp.log(jnp.square(stats.label_logit) + epsilon)


def _mean_square(stats: TokenStats) -> Float[Array, "*batch"]:
    return stats.variance + jnp.square(stats.mean)
