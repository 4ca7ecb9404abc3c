"""A masked language model of a world with all contexts enumerated, and its exact traces.

The model is a budget BERT of one layer and width 8 that predicts the hidden word among V words.
"""

import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.curvature import Fisher, Hessian
from el_jax.types import Params
from experiments.harness import written_out
from experiments.harness.written_out import Problem

WORDS, STATES, LENGTH, CONCENTRATION = 3, 3, 3, 1.0
CHUNK = 64  # directions at once, of exact traces
MODEL = written_out.small_bert(WORDS, LENGTH, width=8)

Context = tuple[Array, Array]  # tokens and the hidden place, with or without a leading axis


class Given(NamedTuple):
    """A network and its contexts.

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


def logits(params: Params, context: Context) -> Float[Array, " V"]:
    """Logits of the words at the hidden place of one context."""
    tokens, place = context
    return written_out.logits(MODEL, params, tokens[None], place[None], WORDS)[0]


def divergence(params: Params, problem: Problem) -> Float[Array, ""]:
    """The population loss above the world's entropy, in nats; its Hessian is the loss's."""
    return written_out.divergence(MODEL, params, problem)


def trained(params: Params, problem: Problem, *, num_updates: int) -> Params:
    """The network after full-batch Adam on the population loss."""
    steps = jnp.array([num_updates])
    kept = written_out.trained(MODEL, params, problem, steps, num_updates=num_updates)
    return jax.tree.map(operator.itemgetter(0), kept)


@jax.jit
def exact_traces(given: Given) -> Exact:
    """Sum over all contexts, all labels and all directions, one by one."""
    problem = given.problem

    def of_leaves(params: Params) -> tuple[Array, Array]:
        """Tr H, and Tr H with each leaf's block multiplied by the leaf's squared norm."""
        diagonal = Hessian(lambda p: divergence(p, problem), params).exact_diagonal(chunk=CHUNK)
        sums = jnp.stack([leaf.sum() for leaf in jax.tree.leaves(diagonal)])
        squares = jnp.stack([jnp.square(leaf).sum() for leaf in jax.tree.leaves(params)])
        return sums.sum(), sums @ squares

    hessian, scale_free = of_leaves(given.params)
    fisher = Fisher(logits, given.params, problem.contexts, weights=problem.weights)
    pairs = jax.tree.map(lambda leaf: jnp.repeat(leaf, WORDS, axis=0), problem.contexts)
    weights = (problem.weights[:, None] * problem.truth).ravel()
    labels = jnp.tile(jnp.arange(WORDS), len(problem.weights))
    empirical = Fisher(logits, given.params, pairs, weights=weights).empirical_trace(labels)
    before, _ = of_leaves(given.other)
    excess = divergence(given.params, problem)
    whole = fisher.all_labels_trace()
    return Exact(hessian, whole.mean, empirical.mean, scale_free, hessian - before, excess)
