"""Three matrices of a masked language model whose every context is written out, exactly.

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

from el_jax.curvature import dense_hessian
from el_jax.types import Batch, ModelFns, Params
from experiments.flat_estimators.network import LEARNING_RATE, Problem


class Compared(NamedTuple):
    """How the matrices differ at one point of a training.

    Attributes:
        divergence: of the model from the truth, in nats.
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


def log_probs(model: ModelFns, params: Params, problem: Problem) -> Float[Array, "n V"]:
    """Log-probabilities of the hidden word in every context, in nats."""
    asked = problem.places[:, None]
    batch = Batch(problem.tokens, asked, jnp.zeros_like(asked), asked >= 0, jnp.zeros_like(asked))
    words = problem.truth.shape[1]
    return jax.nn.log_softmax(model.apply(params, batch)[:, 0, :words])


def divergence(model: ModelFns, params: Params, problem: Problem) -> Float[Array, ""]:
    """The population loss above the world's entropy, in nats."""
    gaps = jnp.log(problem.truth) - log_probs(model, params, problem)
    return problem.weights @ (problem.truth * gaps).sum(axis=1)


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
    hessian = dense_hessian(loss, params)
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


@partial(jax.jit, static_argnames=("model", "num_updates"))
def trained(
    model: ModelFns, params: Params, problem: Problem, steps: Array, *, num_updates: int
) -> Params:
    """Full-batch Adam on the population loss, its rate on a cosine to 0.

    Args:
        model: the network.
        params: where it starts.
        problem: every context.
        steps: ascending updates at which the network is kept; the last is ``num_updates``.
        num_updates: length of the schedule.

    Returns:
        The network after so many updates, leaves ``[steps, ...]``.
    """
    optimizer = optax.adam(optax.cosine_decay_schedule(LEARNING_RATE, num_updates))

    def update(_: Array, state: tuple[Params, optax.OptState]) -> tuple:
        params, memory = state
        slope = jax.grad(lambda p: divergence(model, p, problem))(params)
        change, memory = optimizer.update(slope, memory)
        return optax.apply_updates(params, change), memory

    def to_mark(state: tuple, stretch: tuple[Array, Array]) -> tuple[tuple, Params]:
        state = jax.lax.fori_loop(*stretch, update, state)
        return state, state[0]

    starts = jnp.concatenate([jnp.zeros(1, steps.dtype), steps[:-1]])
    return jax.lax.scan(to_mark, (params, optimizer.init(params)), (starts, steps))[1]
