"""The equal-learning losses E1, E2, E3: minimised at a finite margin, equal for every token.

Source: Yang, Puli, Ranganath 2025, "Learning Is Not A Race" (Findings of EMNLP 2025,
2025.findings-emnlp.1260), eqs. 4-6. They are the multi-class form of MARG-CTRL (``margin.py``):
at V = 2, E1 is marg-log and E2 is spectral decoupling. Nats per token; nothing is reduced.
"""

from typing import Annotated, Literal

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, ScalarLike

from el_jax.losses.cross_entropy import cross_entropy
from el_jax.losses.stats import TokenStats, of_stats, square_sum_other, variance_other
from el_jax.numbers import Number


def mean_square_gap(stats: TokenStats) -> Float[Array, "*batch"]:
    """R = (1/(V-1)) Σ_{c≠k} (f_k - f_c)², in nats².

    The V-1 differences are never formed: R = V/(V-1) [(f_k - mean)² + variance].
    """
    v = stats.num_classes
    return v / (v - 1) * (jnp.square(stats.label_logit - stats.mean) + stats.variance)


@of_stats
def e1(
    stats: TokenStats, *, lam: Annotated[ScalarLike, Number(1.0, at_least=0, symbol="λ")]
) -> Float[Array, "*batch"]:
    """E1 = CE + λ log(1 + R), with R the :func:`mean_square_gap` (eq. 4).

    The penalty is not convex in the margin m: its slope is at most λ, reached near m = 1. So for
    intermediate λ a token has two equilibria (V = 54, λ = 1: margins 0.75 and 4.15). For large λ it
    has one, a fraction of a nat: too small for the resolution of bfloat16 logits. For many classes
    λ = 1 is the least λ with two (V = 50,257: 0.99 and 12.5). Networks rest at the small one from
    about λ = 1 on, whatever V: experiments/el_equilibria.
    """
    return cross_entropy(stats) + lam * jnp.log1p(mean_square_gap(stats))


@of_stats
def e2(
    stats: TokenStats,
    *,
    lam: Annotated[ScalarLike, Number(10.0, at_least=0, symbol="λ")],
    variance: Literal["all", "sample", "others"] = "all",
) -> Float[Array, "*batch"]:
    """E2 = CE + λ Var_c(f_k - f_c) (eq. 5), where Var_c(f_k - f_c) = Var_c(f_c).

    λ acts as λ/V on each squared margin: sweep it in proportion to V.

    Args:
        stats: statistics of each token.
        lam: λ, per nat.
        variance: the classes it covers. "all": the V classes, population variance. "sample": the
            same with divisor V-1. "others": the V-1 wrong classes, population; it is 0 whenever the
            wrong logits are equal, whatever the margin, so it does not bound margins.

    Raises:
        ValueError: if ``variance`` is none of these.
    """
    v = stats.num_classes
    if variance == "all":
        spread = stats.variance
    elif variance == "sample":
        spread = v / (v - 1) * stats.variance
    elif variance == "others":
        spread = variance_other(stats)
    else:
        raise ValueError(f"variance={variance!r} must be 'all', 'sample' or 'others'")
    return cross_entropy(stats) + lam * spread


@of_stats
def e3(
    stats: TokenStats,
    *,
    b: Annotated[ScalarLike, Number(1.0, at_least=0)],
    reduction: Literal["sum", "mean"] = "sum",
) -> Float[Array, "*batch"]:
    """E3 = (f_k - b)² + Σ_{c≠k} (f_c + b)² (eq. 6): regression of the logits on ±b, no CE term.

    Args:
        stats: statistics of each token.
        b: target of the label's logit, in nats; the others have target -b, so the margin is 2b.
        reduction: over classes; "sum" as printed in the paper, "mean" divides it by V.

    Raises:
        ValueError: if ``reduction`` is neither.
    """
    total = jnp.square(stats.label_logit - b) + square_sum_other(stats, target=jnp.negative(b))
    if reduction == "sum":
        return total
    if reduction == "mean":
        return total / stats.num_classes
    raise ValueError(f"reduction={reduction!r} must be 'sum' or 'mean'")
