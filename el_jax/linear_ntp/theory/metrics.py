"""The metrics of a decoder W: its loss, its two parts, its margins, its directions.

W has a part in F, which should approach the finite component W*, and a part across, P_⊥W, which
should grow along a max-margin matrix (Thrampoulidis 2024, arXiv 2402.18551, Theorem 2). A ratio
whose denominator is a zero matrix is NaN. Losses in nats.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Float64

from el_jax.linear_ntp.problems.problem import NTPProblem
from el_jax.linear_ntp.theory.landscape import (
    Landscape,
    Slope,
    landscape,
    slope_at,
)
from el_jax.linear_ntp.theory.norms import NORMS, check_norm, logit_margin, matrix_norm
from el_jax.process.double_precision import float64


def decoder_metrics(
    problem: NTPProblem,
    W: Float[np.ndarray | Array, "*batch V d"],
    *,
    w_mm: Mapping[str, Float[np.ndarray | Array, "V d"]] | None = None,
) -> dict[str, Float64[np.ndarray, "*batch"]]:
    """Every metric of one decoder, or of each of several.

    ====================  =====================================================================
    excess_loss           CE - H, and its parts leak_loss and in_support_loss
    log_leaked_mass       log G, of the probability given to tokens outside supports
    gradient_norm         ‖∇CE‖
    norm                  ‖W‖, and its parts norm_along = ‖P_F W‖ and norm_across = ‖P_⊥W‖
    finite_error          ‖P_F W - W*‖
    support_spread        largest range of the logits of P_⊥W inside a support: 0 up to rounding
    margin_N              least logit in a support less the largest outside, of P_⊥W / N(P_⊥W),
                          for each norm N: frobenius, max, spectral. When positive, the data are
                          separable with at least this margin γ_N
    margin_bound          ‖P_⊥∇CE‖ / G, which the Frobenius margin γ never exceeds
    cosine_N              of W with the reference for N
    cosine_minus_finite_N of W - W* with it
    cosine_across_N       of P_⊥W with it
    cosine_descent_N      of -P_⊥∇CE with it: 1 where the residuals, scaled, are a dual solution
    margin_ratio_N        margin_N over that of the reference
    ====================  =====================================================================

    The bound holds for every W: P_⊥∇CE is B Hᵀ for some B whose columns sum to 0 and that is, up
    to sign, the leaked probability outside supports.

    Args:
        problem: the data.
        W: one or more decoders.
        w_mm: a max-margin matrix for some of the norms; the last five metrics need it.

    Raises:
        ValueError: for an unknown norm or a shape other than ``[V, d]``.
    """
    references = checked_references(problem, w_mm)
    decoders = np.asarray(W, np.float64)
    problem.decoder(decoders.reshape(-1, *decoders.shape[-2:])[0])
    flat = decoders.reshape(-1, problem.vocab_size, problem.dim)
    with float64():
        metrics = _metrics_of_all(flat, landscape(problem), references)
        return {
            name: np.asarray(values).reshape(decoders.shape[:-2])
            for name, values in metrics.items()
        }


def checked_references(
    problem: NTPProblem, w_mm: Mapping[str, Float[np.ndarray | Array, "V d"]] | None
) -> dict[str, Float64[np.ndarray, "V d"]]:
    """The reference matrices in float64.

    Raises:
        ValueError: if ``w_mm`` is not a mapping, or for an unknown norm or a shape other than ``[V,
            d]``.
    """
    if w_mm is not None and not isinstance(w_mm, Mapping):
        raise ValueError(
            f"w_mm is {type(w_mm).__name__}: must map norms to matrices, as {{'frobenius': W}} or "
            "the references of an Analysis"
        )
    for norm in w_mm or {}:
        check_norm(norm)
    return {norm: problem.decoder(W) for norm, W in (w_mm or {}).items()}


def metrics_at(
    W: Float[Array, "V d"],
    slope: Slope,
    landscape: Landscape,
    references: Mapping[str, Float[Array, "V d"]],
) -> dict[str, Float[Array, ""]]:
    """The metrics of :func:`decoder_metrics` for traced arrays, given the slope at W."""
    support = landscape.next_token_probs > 0
    along = landscape.project(W)
    across = W - along
    logits = across @ landscape.embeddings
    spread, margin = logit_margin(logits, support)
    norms = dict.fromkeys([*NORMS, *references])
    margins: dict[str, Array] = {norm: margin.min() / matrix_norm(across, norm) for norm in norms}
    leaked = jnp.exp(slope.log_leaked - slope.log_scale)
    metrics = {
        "excess_loss": slope.excess.total,
        "leak_loss": slope.excess.leak,
        "in_support_loss": slope.excess.in_support,
        "log_leaked_mass": slope.log_leaked,
        "gradient_norm": matrix_norm(slope.gradient, "frobenius"),
        "norm": jnp.linalg.norm(W),
        "norm_along": jnp.linalg.norm(along),
        "norm_across": jnp.linalg.norm(across),
        "finite_error": jnp.linalg.norm(along - landscape.finite),
        "support_spread": spread.max(),
        "margin_bound": jnp.linalg.norm(slope.across) / leaked,
        **{f"margin_{norm}": margin for norm, margin in margins.items()},
    }
    for norm, reference in references.items():
        optimum = logit_margin(reference @ landscape.embeddings, support).margin.min()
        optimum = optimum / matrix_norm(reference, norm)
        metrics |= {
            f"cosine_{norm}": _cosine(W, reference),
            f"cosine_minus_finite_{norm}": _cosine(W - landscape.finite, reference),
            f"cosine_across_{norm}": _cosine(across, reference),
            f"cosine_descent_{norm}": _cosine(-slope.across, reference),
            f"margin_ratio_{norm}": margins[norm] / optimum,
        }
    return metrics


def _cosine(a: Array, b: Array) -> Array:
    return jnp.sum(a * b) / (jnp.linalg.norm(a) * jnp.linalg.norm(b))


@jax.jit
def _metrics_of_all(
    decoders: Array, landscape: Landscape, references: Mapping[str, Array]
) -> dict[str, Array]:
    return jax.vmap(lambda W: metrics_at(W, slope_at(W, landscape), landscape, references))(
        decoders
    )
