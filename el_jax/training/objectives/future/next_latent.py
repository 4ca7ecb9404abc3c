"""Next-latent prediction: predict the next hidden state from this one and the next token."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float, ScalarLike

from el_jax.numbers import Number
from el_jax.training.objectives.future.term import Answers, Future, later, matrix
from el_jax.types import Key, Params


def next_latent(
    width: int,
    num_classes: int,
    *,
    horizon: Annotated[int, Number(8, at_least=1)],
    kl_weight: Annotated[ScalarLike, Number(1.0, at_least=0)],
) -> Future:
    """Roll an MLP over the answer's tokens, from each hidden state to the later ones (NextLat).

    Teoh et al. 2025, arXiv 2511.05963: smooth L1 between predicted and true hidden states, plus the
    KL divergence of the predicted state's next-token distribution from the true one's. Targets and
    the output matrix are held fixed. We differ in three ways: only places of the answer are
    predicted (the paper also predicts those of the prompt); a token enters as its column of the
    output matrix, which is its embedding in models with tied tables; and losses are means over the
    horizon.

    Args:
        width: E.
        num_classes: V.
        horizon: the largest number of places predicted ahead.
        kl_weight: weight of the divergence.
    """
    del num_classes

    def init(key: Key) -> Params:
        first, second = jax.random.split(key)
        inner = {"in": matrix(first, 2 * width, width), "middle": matrix(second, width, width)}
        return inner | {"out": jnp.zeros((width, width))}  # starts as the identity

    def term(own: Params, answers: Answers) -> Float[Array, "S A"]:
        head, bias, truth = lax.stop_gradient((answers.head, answers.bias, answers.hidden))

        def log_p(hidden: Array) -> Array:
            return jax.nn.log_softmax(hidden @ head + bias[None, None])

        state, total = answers.hidden, jnp.zeros(answers.labels.shape)
        counted = jnp.zeros(answers.labels.shape)
        for places in range(1, min(horizon, answers.labels.shape[1] - 1) + 1):
            state = _next_state(own, state, head.T[later(answers.labels, places - 1)])
            aim = later(truth, places)
            missed = smooth_l1(state - aim).mean(-1)
            wanted = log_p(aim)
            divergence = (jnp.exp(wanted) * (wanted - log_p(state))).sum(-1)
            inside = later(answers.mask, places)
            total += jnp.where(inside, missed + kl_weight * divergence, 0.0)
            counted += inside
        return total / jnp.maximum(counted, 1.0)

    return Future(init, term)


def smooth_l1(error: Array) -> Array:
    """x² / 2 up to 1, |x| - 1/2 beyond."""
    size = jnp.abs(error)
    return jnp.where(size < 1, 0.5 * jnp.square(error), size - 0.5)


def _next_state(own: Params, state: Array, token: Array) -> Array:
    """The state plus an MLP of the state and the next token."""
    both = jax.nn.standardize(jnp.concatenate([state, token], axis=-1))
    inner = jax.nn.gelu(jax.nn.gelu(both @ own["in"]) @ own["middle"])
    return state + inner @ own["out"]
