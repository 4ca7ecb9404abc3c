"""Three matrices of a masked language model, exact because every context is enumerated.

With s_y = ∇ log p_y in a context of weight w, the truth q and the model p:

==========  ====================  ============================================
Σ           E_w E_q s_y s_yᵀ      covariance of the gradients of single words
F           E_w E_p s_y s_yᵀ      Fisher matrix, whose trace B.1 measures
H           ∇² E_w KL(q, p)       Hessian of the population loss
==========  ====================  ============================================
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from el_jax.curvature import Hessian
from el_jax.types import ModelFns, Params
from experiments.harness.written_out import Problem, divergence, log_probs


class Compared(NamedTuple):
    """Differences of the matrices at one point of a training.

    Attributes:
        divergence: divergence of the model from the truth, in nats.
        gradient: ‖∇‖ of the population loss.
        covariance_gap: ‖Σ - H‖ / ‖H‖ in the Frobenius norm.
        fisher_gap: ‖F - H‖ / ‖H‖.
        covariance_trace: Tr Σ / Tr H.
        fisher_trace: Tr F / Tr H.
    """

    divergence: Array
    gradient: Array
    covariance_gap: Array
    fisher_gap: Array
    covariance_trace: Array
    fisher_trace: Array


@partial(jax.jit, static_argnames="model")
def compare(model: ModelFns, params: Params, problem: Problem) -> Compared:
    """The three matrices, as differences."""
    flat, restore = ravel_pytree(params)
    scores = jax.jacrev(lambda theta: log_probs(model, restore(theta), problem))(flat)
    probs = jnp.exp(log_probs(model, params, problem))

    def second_moment(law: Float[Array, "n V"]) -> Float[Array, "P P"]:
        weights = (problem.weights[:, None] * law).reshape(-1, 1)
        rows = scores.reshape(-1, flat.size)
        return jnp.matmul(rows.T, weights * rows, precision="highest")

    def loss(params: Params) -> Array:
        return divergence(model, params, problem)

    covariance, fisher = second_moment(problem.truth), second_moment(probs)
    hessian = Hessian(loss, params).dense()
    length = jnp.linalg.norm(hessian)
    value, slope = jax.value_and_grad(loss)(params)
    return Compared(
        value,
        optax.tree.norm(slope),
        jnp.linalg.norm(covariance - hessian) / length,
        jnp.linalg.norm(fisher - hessian) / length,
        jnp.trace(covariance) / jnp.trace(hessian),
        jnp.trace(fisher) / jnp.trace(hessian),
    )
