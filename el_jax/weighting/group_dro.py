"""Distributionally robust optimisation over groups (Sagawa et al. 2020, arXiv:1911.08731)."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, ScalarLike

from el_jax.numbers import Number


def group_dro(
    losses: Float[Array, "G"],
    present: Bool[Array, "G"],
    memory: Float[Array, "G"],
    *,
    step_size: Annotated[ScalarLike, Number(0.01, at_least=0, symbol="η_q")],
) -> tuple[Float[Array, "G"], Float[Array, "G"]]:
    """q_g ∝ exp(η_q Σ of the losses of group g in all updates so far), their Algorithm 1.

    The larger a group's losses have been, the more it counts. A group without tokens in an update
    is taken to have the mean loss of the others, so at small step sizes it about keeps its share
    (in the released code it loses some, as if its loss were 0). With a step size of 0 all groups
    count the same, however many tokens they have.

    Args:
        losses: mean loss of every group in this update, nats; 0 for a group without tokens.
        present: True for groups with tokens.
        memory: log q, up to a constant.
        step_size: of the ascent on q.
    """
    q = jax.nn.softmax(memory)
    of_present = jnp.where(present, q, 0)
    typical = (of_present * losses).sum() / jnp.maximum(of_present.sum(), 1e-30)
    log_q = jax.nn.log_softmax(memory + step_size * jnp.where(present, losses, typical))
    return jnp.exp(log_q), log_q
