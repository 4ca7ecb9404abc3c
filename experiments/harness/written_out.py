"""Masked language models of a world so small that every context is enumerated.

Losses and training are exact: only the world and the initialisation are sampled.
"""

import dataclasses
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float, Int

from el_jax.models import PRESETS, transformer
from el_jax.types import Batch, ModelFns, Params
from el_jax.worlds import World, block_hmm, every_masked_context

LEARNING_RATE = 0.01  # Adam's initial rate; decays to 0 along a cosine


class Problem(NamedTuple):
    """Every context and the truth about it.

    Attributes:
        tokens: words, with V at the hidden position, ``[n, T]``.
        places: position of the hidden word, ``[n]``.
        weights: probabilities of the contexts, ``[n]``.
        truth: distribution of the hidden word, ``[n, V]``.
    """

    tokens: Int[Array, "n T"]
    places: Int[Array, " n"]
    weights: Float[Array, " n"]
    truth: Float[Array, "n V"]

    @property
    def contexts(self) -> tuple[Int[Array, "n T"], Int[Array, " n"]]:
        """Tokens and hidden places."""
        return self.tokens, self.places


def small_world(words: int, states: int, length: int, concentration: float, seed: int) -> World:
    """A random hidden Markov model with sentences so short that all can be enumerated."""
    return block_hmm(
        vocab_size=words,
        num_states=states,
        length=length,
        num_blocks=1,
        concentration=concentration,
        seed=seed,
    )


def small_bert(words: int, length: int, width: int, position: str = "learned") -> ModelFns:
    """A budget BERT of one layer and one head, whose vocabulary has a mask after the words."""
    return transformer(
        dataclasses.replace(
            PRESETS["budget_bert"],
            vocab_size=words + 1,
            width=width,
            num_layers=1,
            num_heads=1,
            max_length=length,
            position=position,
            init="width",
            matmul_precision="highest",
        )
    )


def problem_of(world: World) -> Problem:
    """Every context of a small world."""
    found = every_masked_context(world)
    return Problem(
        jnp.asarray(found.tokens),
        jnp.asarray(found.places),
        jnp.asarray(found.weights),
        jnp.exp(found.log_conditionals),
    )


def logits(
    model: ModelFns, params: Params, tokens: Int[Array, "n T"], places: Int[Array, " n"], words: int
) -> Float[Array, "n V"]:
    """Logits of the V = ``words`` words at the hidden position of each context."""
    asked = places[:, None]
    batch = Batch(tokens, asked, jnp.zeros_like(asked), asked >= 0, jnp.zeros_like(asked))
    return model.apply(params, batch)[:, 0, :words]


def log_probs(model: ModelFns, params: Params, problem: Problem) -> Float[Array, "n V"]:
    """Log-probabilities of the hidden word in every context, in nats."""
    return jax.nn.log_softmax(logits(model, params, *problem.contexts, problem.truth.shape[1]))


def divergence(model: ModelFns, params: Params, problem: Problem) -> Float[Array, ""]:
    """The population loss above the world's entropy, in nats; its Hessian is the loss's."""
    gaps = jnp.log(problem.truth) - log_probs(model, params, problem)
    return problem.weights @ (problem.truth * gaps).sum(axis=1)


@partial(jax.jit, static_argnames=("model", "num_updates"))
def trained(
    model: ModelFns, params: Params, problem: Problem, steps: Array, *, num_updates: int
) -> Params:
    """Train by full-batch Adam on the population loss, with a cosine decay of the rate to 0.

    Args:
        model: the network.
        params: the initial parameters.
        problem: every context.
        steps: ascending updates at which the network is kept; the last is ``num_updates``.
        num_updates: length of the schedule.

    Returns:
        The network after each of ``steps`` updates, leaves ``[steps, ...]``.
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
