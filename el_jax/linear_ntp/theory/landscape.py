"""The objective at W as methods see it: the arrays of a problem, and slopes.

Everything here takes plain arrays and can be traced: trajectories scan and vmap over it.
"""

from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.linear_ntp.problems.problem import NTPProblem
from el_jax.linear_ntp.theory.objective import (
    ExcessLoss,
    excess_parts,
    in_support_residual,
    leak_residual,
    logit_pieces,
)
from el_jax.linear_ntp.theory.subspace import (
    data_subspace,
    finite_component,
    project,
    top_curvature,
)
from el_jax.process.double_precision import float64
from el_jax.types import Key


class Landscape(NamedTuple):
    """A problem as plain arrays, with quantities that depend on it alone.

    Attributes:
        embeddings: H, ``[d, m]``.
        context_probs: π, ``[m]``.
        next_token_probs: P, ``[V, m]``.
        basis: orthonormal basis of F, ``[V d, dim F]``, or None.
        finite: W*, ``[V, d]``.
        top_curvature: λ_F.
    """

    embeddings: Float[Array, "d m"]
    context_probs: Float[Array, "m"]
    next_token_probs: Float[Array, "V m"]
    basis: Float[Array, "Vd dim"] | None
    finite: Float[Array, "V d"]
    top_curvature: Float[Array, ""]

    def project(self, W: Float[Array, "V d"]) -> Float[Array, "V d"]:
        """P_F(W)."""
        return project(W, self.basis, self.embeddings, self.next_token_probs > 0)


class Slope(NamedTuple):
    """The objective at one W. Compilation removes the fields that a method does not read.

    Attributes:
        gradient: ∇CE, ``[V, d]``.
        along: P_F ∇CE, ``[V, d]``.
        across: P_⊥ ∇CE times exp(-log_scale), ``[V, d]``; computed from the leak alone, so it keeps
            its digits when the leak is far below the rest or below 1e-308.
        log_scale: log of the largest leaked probability of a context.
        log_leaked: log G, of the mean leaked probability.
        excess: CE - H and its parts.
        top_curvature: λ_F.
    """

    gradient: Float[Array, "V d"]
    along: Float[Array, "V d"]
    across: Float[Array, "V d"]
    log_scale: Float[Array, ""]
    log_leaked: Float[Array, ""]
    excess: ExcessLoss
    top_curvature: Float[Array, ""]


@lru_cache(maxsize=4)  # problems are immutable, so all methods run on one share this
def landscape(problem: NTPProblem) -> Landscape:
    """The arrays of a problem; computes its data subspace."""
    basis = data_subspace(problem).basis
    with float64():
        return Landscape(
            jnp.asarray(problem.embeddings),
            jnp.asarray(problem.context_probs),
            jnp.asarray(problem.next_token_probs),
            None if basis is None else jnp.asarray(basis),
            jnp.asarray(finite_component(problem)),
            jnp.asarray(top_curvature(problem)),
        )


def sampled_gradient(
    W: Float[Array, "V d"], landscape: Landscape, cumulative: Float[Array, "Vm"], key: Key, num: int
) -> Float[Array, "V d"]:
    """Mean gradient of the cross-entropy of ``num`` contexts, each drawn with a token after it.

    Args:
        W: the decoder.
        landscape: the problem.
        cumulative: the sums from :func:`cumulative_pairs`.
        key: key of the draws.
        num: pairs, drawn independently.
    """
    u = jax.random.uniform(key, (num,), W.dtype, maxval=cumulative[-1])
    pairs = jnp.searchsorted(cumulative, u, side="right")  # never one of probability 0
    tokens, contexts = jnp.divmod(pairs, landscape.embeddings.shape[1])
    h = landscape.embeddings[:, contexts]
    residual = jax.nn.softmax(W @ h, axis=0) - jax.nn.one_hot(tokens, len(W), axis=0, dtype=W.dtype)
    return residual @ h.T / num


def cumulative_pairs(landscape: Landscape) -> Float[Array, "Vm"]:
    """Sums over the probabilities π_j P_vj of pairs of a token v and a context j, v by v."""
    return jnp.cumsum((landscape.context_probs[None] * landscape.next_token_probs).ravel())


def slope_at(W: Float[Array, "V d"], landscape: Landscape) -> Slope:
    """The slope of the objective at W."""
    H, context_probs, probs = landscape[:3]
    pieces = logit_pieces(W @ H, probs)
    log_leaks = jax.nn.log_sigmoid(pieces.log_odds)
    log_scale = log_leaks.max()
    inside = -in_support_residual(pieces, context_probs, probs) @ H.T
    leaking = -leak_residual(pieces, context_probs, log_scale) @ H.T
    leaking_along = landscape.project(leaking)
    return Slope(
        gradient=inside + jnp.exp(log_scale) * leaking,
        along=inside + jnp.exp(log_scale) * leaking_along,
        across=leaking - leaking_along,
        log_scale=log_scale,
        log_leaked=jax.nn.logsumexp(log_leaks + jnp.log(context_probs)),
        excess=excess_parts(pieces, context_probs, probs),
        top_curvature=landscape.top_curvature,
    )
