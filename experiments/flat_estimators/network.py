"""A masked language model of a world whose contexts are all written out, and its exact traces.

The model is a budget BERT of one layer and width 8, asked for the hidden word among the V words.
"""

import dataclasses
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float, Int

from el_jax.curvature import exact_hessian_diagonal, fisher_trace
from el_jax.models import PRESETS, transformer
from el_jax.types import Batch, Params
from el_jax.worlds import World, block_hmm, every_masked_context

WORDS, STATES, LENGTH, CONCENTRATION = 3, 3, 3, 1.0
LEARNING_RATE = 0.01  # of Adam at the start; it falls to 0 along a cosine
CHUNK = 64  # directions at once, of exact traces
MODEL = transformer(
    dataclasses.replace(
        PRESETS["budget_bert"], vocab_size=WORDS + 1, width=8, num_layers=1, num_heads=1,
        max_length=LENGTH, init="width", matmul_precision="highest",
    )
)  # fmt: skip

Context = tuple[Array, Array]  # tokens and the hidden place, with or without a leading axis


class Problem(NamedTuple):
    """Every context and the truth about it.

    Attributes:
        tokens: words, V at the hidden place, ``[n, T]``.
        places: of the hidden word, ``[n]``.
        weights: probabilities of the contexts, ``[n]``.
        truth: law of the hidden word, ``[n, V]``.
    """

    tokens: Int[Array, "n T"]
    places: Int[Array, " n"]
    weights: Float[Array, " n"]
    truth: Float[Array, "n V"]

    @property
    def contexts(self) -> Context:
        """Tokens and places."""
        return self.tokens, self.places


class Given(NamedTuple):
    """A network and what is asked of it.

    Attributes:
        problem: the contexts.
        params: the network.
        other: the network at another stage of its training.
    """

    problem: Problem
    params: Params
    other: Params


class Exact(NamedTuple):
    """Traces of the population loss without any sampling, and its excess over the entropy."""

    hessian: Array
    fisher: Array
    empirical_fisher: Array
    scale_free: Array
    difference: Array
    divergence: Array


def world(seed: int) -> World:
    """A random hidden Markov model with sentences of three of three words."""
    return block_hmm(
        vocab_size=WORDS, num_states=STATES, length=LENGTH, num_blocks=1,
        concentration=CONCENTRATION, seed=seed,
    )  # fmt: skip


def problem_of(world: World) -> Problem:
    """Every context of a small world."""
    found = every_masked_context(world)
    return Problem(
        jnp.asarray(found.tokens),
        jnp.asarray(found.places),
        jnp.asarray(found.weights),
        jnp.exp(found.log_conditionals),
    )


def logits(params: Params, context: Context) -> Float[Array, " V"]:
    """Of the words at the hidden place of one context."""
    tokens, place = context
    return _all_logits(params, tokens[None], place[None])[0]


def _all_logits(
    params: Params, tokens: Int[Array, "n T"], places: Int[Array, " n"]
) -> Float[Array, "n V"]:
    asked = places[:, None]
    batch = Batch(tokens, asked, jnp.zeros_like(asked), asked >= 0, jnp.zeros_like(asked))
    return MODEL.apply(params, batch)[:, 0, :WORDS]


def divergence(params: Params, problem: Problem) -> Float[Array, ""]:
    """The population loss above the world's entropy, in nats; its Hessian is the loss's."""
    log_probs = jax.nn.log_softmax(_all_logits(params, *problem.contexts))
    return problem.weights @ (problem.truth * (jnp.log(problem.truth) - log_probs)).sum(axis=1)


@partial(jax.jit, static_argnames="num_updates")
def trained(params: Params, problem: Problem, *, num_updates: int) -> Params:
    """Full-batch Adam on the population loss."""
    optimizer = optax.adam(optax.cosine_decay_schedule(LEARNING_RATE, num_updates))

    def update(state: tuple[Params, optax.OptState], _: None) -> tuple[tuple, None]:
        params, memory = state
        change, memory = optimizer.update(jax.grad(divergence)(params, problem), memory)
        return (optax.apply_updates(params, change), memory), None

    return jax.lax.scan(update, (params, optimizer.init(params)), length=num_updates)[0][0]


@jax.jit
def exact_traces(given: Given) -> Exact:
    """All contexts, all labels and all directions, one by one."""
    problem = given.problem

    def of_leaves(params: Params) -> tuple[Array, Array]:
        """Tr H, and the same with the block of each leaf times the leaf's squared norm."""
        diagonal = exact_hessian_diagonal(lambda p: divergence(p, problem), params, chunk=CHUNK)
        sums = jnp.stack([leaf.sum() for leaf in jax.tree.leaves(diagonal)])
        squares = jnp.stack([jnp.square(leaf).sum() for leaf in jax.tree.leaves(params)])
        return sums.sum(), sums @ squares

    hessian, scale_free = of_leaves(given.params)
    fisher = fisher_trace(
        logits, given.params, problem.contexts, labels="all", weights=problem.weights
    )
    pairs = jax.tree.map(lambda leaf: jnp.repeat(leaf, WORDS, axis=0), problem.contexts)
    empirical = fisher_trace(
        logits, given.params, pairs, labels="data",
        observed=jnp.tile(jnp.arange(WORDS), len(problem.weights)),
        weights=(problem.weights[:, None] * problem.truth).ravel(),
    )  # fmt: skip
    before, _ = of_leaves(given.other)
    excess = divergence(given.params, problem)
    return Exact(hessian, fisher.mean, empirical.mean, scale_free, hessian - before, excess)
