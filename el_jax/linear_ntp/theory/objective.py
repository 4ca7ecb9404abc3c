"""Cross entropy above its entropy bound, split so that it is exact when it is tiny.

With l_in and l_out the logsumexp of a context's logits inside and outside its support, and a =
l_out - l_in, the excess of cross entropy over the entropy H is exactly

    CE(W) - H = Σ_j π_j softplus(a_j)  +  Σ_j π_j KL(p_j ‖ softmax over S_j)

The first sum is the cost of leaking out of the support: it vanishes as W grows along a separating
direction. The second depends on the projection of W onto F only (the CE_F of Thrampoulidis 2024,
arXiv 2402.18551, eq. 12, less H). Neither is formed by subtracting near-equal numbers, so both keep
their digits far below 1e-16, where CE - H has none. Losses are in nats, in float64.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Float64

from el_jax.linear_ntp.problems.problem import NTPProblem
from el_jax.process.double_precision import float64


class ExcessLoss(NamedTuple):
    """Cross entropy above the entropy bound, ``total = leak + in_support``, in nats.

    Attributes:
        total: CE - H.
        leak: CE - CE_F, the cost of probability outside supports.
        in_support: CE_F - H, the KL divergence inside supports.
    """

    total: float | Float[Array, ""]
    leak: float | Float[Array, ""]
    in_support: float | Float[Array, ""]


class LogitPieces(NamedTuple):
    """The parts of the loss and its gradient, at logits L.

    Attributes:
        log_ratio: log p - log softmax over the support, 0 outside it, ``[V, m]``.
        inside: softmax over the support, 0 outside it, ``[V, m]``.
        outside: softmax over the other tokens, 0 in the support, ``[V, m]``.
        log_odds: a, log-odds of leaving the support, -inf where it is all tokens, ``[m]``.
    """

    log_ratio: Float[Array, "V m"]
    inside: Float[Array, "V m"]
    outside: Float[Array, "V m"]
    log_odds: Float[Array, "m"]


def entropy_lower_bound(problem: NTPProblem) -> float:
    """Empirical entropy H = -Σ_j π_j Σ_z p_{j,z} log p_{j,z}, which CE never goes below."""
    probs = problem.next_token_probs
    # 0 minus the sum: its negative is -0 where one token follows every context
    return float(0 - np.sum(problem.context_probs * probs * np.log(np.where(probs > 0, probs, 1))))


def cross_entropy(problem: NTPProblem, W: Float[np.ndarray | Array, "V d"]) -> float:
    """CE(W) = -Σ_j π_j Σ_z p_{j,z} log softmax_z(W h_j); see :func:`excess_loss` when it is near H.

    Raises:
        ValueError: if W is not ``[V, d]``.
    """
    return entropy_lower_bound(problem) + float(excess_loss(problem, W).total)


def excess_loss(problem: NTPProblem, W: Float[np.ndarray | Array, "V d"]) -> ExcessLoss:
    """CE(W) - H and its two parts.

    The leak has a relative error of about eps |L|, with L the logits, however small it is. The
    in-support part inherits the rounding of logits: its absolute error is up to
    2 sqrt(KL) eps |L| + eps² |L|².

    Raises:
        ValueError: if W is not ``[V, d]``.
    """
    with float64():
        parts = _excess_at(problem.decoder(W), *arrays(problem))
    return ExcessLoss(*map(float, parts))


def gradient(
    problem: NTPProblem, W: Float[np.ndarray | Array, "V d"]
) -> Float64[np.ndarray, "V d"]:
    """∇CE(W) = -R Hᵀ from :func:`residual`, in closed form.

    Raises:
        ValueError: if W is not ``[V, d]``.
    """
    return -residual(problem, W) @ problem.embeddings.T


def residual(
    problem: NTPProblem, W: Float[np.ndarray | Array, "V d"]
) -> Float64[np.ndarray, "V m"]:
    """R_j = π_j (p_j - softmax(W h_j)), exact to rounding however small.

    Its columns sum to 0 and it is <= 0 outside supports, so R is feasible for the dual of the
    max-margin problem, whatever W: γ <= ‖R Hᵀ‖ / G with G the :func:`leaked_mass`.

    Raises:
        ValueError: if W is not ``[V, d]``.
    """
    with float64():
        return np.asarray(_residual_at(problem.decoder(W), *arrays(problem)))


def hessian(
    problem: NTPProblem,
    W: Float[np.ndarray | Array, "V d"],
    coordinates: Float[np.ndarray, "r m"],
) -> Float64[np.ndarray, "V r V r"]:
    """∇²CE(W) = Σ_j π_j (diag q_j - q_j q_jᵀ) ⊗ c_j c_jᵀ, q the softmax of the logits.

    Args:
        problem: the data.
        W: the decoder.
        coordinates: C, the embeddings in an orthonormal basis of their span; H itself for all of W.

    Raises:
        ValueError: if W is not ``[V, d]``.
    """
    with float64():
        logits = problem.decoder(W) @ problem.embeddings
        return np.asarray(_hessian_at(logits, problem.context_probs, coordinates))


def leaked_mass(problem: NTPProblem, W: Float[np.ndarray | Array, "V d"]) -> float:
    """G(W) = Σ_j π_j ε_j, the probability given to tokens outside the support.

    Below 5e-324 it is 0, where the ``log_leaked_mass`` of ``decoder_metrics`` is still exact.

    Raises:
        ValueError: if W is not ``[V, d]``.
    """
    with float64():
        # NumPy's exp: XLA rounds numbers below 2e-308 to 0
        return float(np.exp(_log_leaked_at(problem.decoder(W), *arrays(problem))))


def smoothness_bound(problem: NTPProblem) -> float:
    """½ λ_max(Σ_j π_j h_j h_jᵀ) >= L, the Lipschitz constant of ∇CE.

    ½ bounds the norm of diag(q) - q qᵀ. Gradient descent converges for η < 2/L; the paper's proofs
    require η <= 1/(2L).
    """
    weighted = problem.embeddings * np.sqrt(problem.context_probs)
    return float(np.linalg.norm(weighted, 2) ** 2 / 2)


# The functions below take plain arrays and can be traced: trajectories scan and vmap over them.


def arrays(problem: NTPProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """H, π and P, in the order that the traced functions expect."""
    return problem.embeddings, problem.context_probs, problem.next_token_probs


def logit_pieces(logits: Float[Array, "V m"], probs: Float[Array, "V m"]) -> LogitPieces:
    """The pieces at logits L, without NaN in values or derivatives where a support is full."""
    support = probs > 0
    leaves_out = ~support.all(axis=0, keepdims=True)
    inside = jnp.where(support, logits, -jnp.inf)
    # a full support has nothing outside: any finite logit keeps derivatives finite there
    outside = jnp.where(leaves_out, jnp.where(support, -jnp.inf, logits), 0.0)
    lse_in = jax.nn.logsumexp(inside, axis=0, keepdims=True)
    lse_out = jax.nn.logsumexp(outside, axis=0, keepdims=True)
    log_probs = jnp.log(jnp.where(support, probs, 1.0))
    return LogitPieces(
        log_ratio=jnp.where(support, log_probs - (logits - lse_in), 0.0),
        inside=jnp.exp(inside - lse_in),
        outside=jnp.where(leaves_out, jnp.exp(outside - lse_out), 0.0),
        log_odds=jnp.where(leaves_out, lse_out - lse_in, -jnp.inf)[0],
    )


def excess_parts(
    pieces: LogitPieces, context_probs: Float[Array, "m"], probs: Float[Array, "V m"]
) -> ExcessLoss:
    """The excess loss at the pieces of some logits."""
    leak = jnp.sum(context_probs * _softplus(pieces.log_odds))
    # Σ p (e^{-r} - 1) is 0, so that KL = Σ p (e^{-r} - 1 + r): every term >= 0, none cancels
    in_support = jnp.sum(context_probs * jnp.sum(probs * _exp_above_line(pieces.log_ratio), axis=0))
    return ExcessLoss(leak + in_support, leak, in_support)


def in_support_residual(
    pieces: LogitPieces, context_probs: Float[Array, "m"], probs: Float[Array, "V m"]
) -> Float[Array, "V m"]:
    """π (p - softmax over the support): the part of R whose product with Hᵀ lies in F.

    Rounding of the logits leaves each column a sum of about eps |L|. It is removed: across F, where
    only the leak remains, it would drown any smaller leak.
    """
    excess = -probs * jnp.expm1(-pieces.log_ratio)
    return context_probs[None] * (excess - probs * excess.sum(axis=0, keepdims=True))


def leak_residual(
    pieces: LogitPieces, context_probs: Float[Array, "m"], log_scale: Float[Array, ""]
) -> Float[Array, "V m"]:
    """The rest of R, times exp(-log_scale) so that a leak below 1e-308 does not underflow."""
    log_mass = jax.nn.log_sigmoid(pieces.log_odds) - log_scale
    return (context_probs * jnp.exp(log_mass))[None] * (pieces.inside - pieces.outside)


def _softplus(x: Float[Array, "m"]) -> Float[Array, "m"]:
    """log(1 + e^x), with derivative 0 rather than NaN at -inf."""
    nothing = jnp.isneginf(x)
    return jnp.where(nothing, 0.0, jax.nn.softplus(jnp.where(nothing, 0.0, x)))


def _exp_above_line(r: Float[Array, "V m"]) -> Float[Array, "V m"]:
    """e^{-r} - 1 + r; near 0, where the two cancel, by its series r²/2 - r³/6 + ..."""
    small = jnp.abs(r) < 0.03
    near, far = jnp.where(small, r, 0.0), jnp.where(small, 0.0, r)
    series = jnp.ones_like(r)
    for power in range(9, 2, -1):  # Horner; the first term left out is 1e-18 of the sum
        series = 1 - near / power * series
    return jnp.where(small, near * near / 2 * series, jnp.expm1(-far) + far)


@jax.jit
def _excess_at(W: Array, H: Array, context_probs: Array, probs: Array) -> ExcessLoss:
    return excess_parts(logit_pieces(W @ H, probs), context_probs, probs)


@jax.jit
def _residual_at(W: Array, H: Array, context_probs: Array, probs: Array) -> Array:
    pieces = logit_pieces(W @ H, probs)
    leak = leak_residual(pieces, context_probs, jnp.zeros(()))
    return in_support_residual(pieces, context_probs, probs) + leak


@jax.jit
def _hessian_at(logits: Array, context_probs: Array, coordinates: Array) -> Array:
    softmax = jax.nn.softmax(logits, axis=0)
    weighted = context_probs[None] * softmax
    both = jnp.einsum("vj,aj,bj->vab", weighted, coordinates, coordinates)
    diagonal = jnp.einsum("vw,vab->vawb", jnp.eye(len(logits)), both)
    joint = jnp.einsum("vj,aj,wj,bj->vawb", weighted, coordinates, softmax, coordinates)
    return diagonal - joint


@jax.jit
def _log_leaked_at(W: Array, H: Array, context_probs: Array, probs: Array) -> Array:
    log_leaks = jax.nn.log_sigmoid(logit_pieces(W @ H, probs).log_odds)
    return jax.nn.logsumexp(log_leaks + jnp.log(context_probs))
