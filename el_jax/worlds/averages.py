"""Entropy floor and label rates of a world: over a sample, or exactly over every sentence.

A function with a key samples and returns an :class:`~el_jax.types.Estimate`; its exact twin
enumerates the sentences, for worlds with small V^T. Both are Rao-Blackwellised: they average each
sentence's known conditionals, never a drawn word or class.
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.process.errors import require
from el_jax.types import Estimate, Key
from el_jax.worlds.language_model import LanguageModel
from el_jax.worlds.world import PAD, World

MAX_SENTENCES = 2**20

Per = Literal["sentence", "token"]


class LabelRates(NamedTuple):
    """Accuracies to compare with a classifier's, for one label.

    Attributes:
        majority: accuracy of always answering the most frequent class.
        bayes: accuracy of the class most probable given the whole sentence; no classifier exceeds
            it.
    """

    majority: Estimate
    bayes: Estimate


class MaskedContexts(NamedTuple):
    """Every possible input of masked language modelling, with the distribution of the hidden word.

    Attributes:
        tokens: words, with V at the hidden position, ``[n, T]``.
        places: position of the hidden word, counted from 0, ``[n]``.
        weights: probabilities of the contexts, which sum to 1, ``[n]``.
        log_conditionals: log-probabilities of the hidden word, in nats, ``[n, V]``.
    """

    tokens: Int[np.ndarray, "n T"]
    places: Int[np.ndarray, "n"]
    weights: Float[np.ndarray, "n"]
    log_conditionals: Float[np.ndarray, "n V"]


def conditionals_at(
    world: World, tokens: Int[Array, "n T"], places: Int[Array, "n"]
) -> Float[Array, "n V"]:
    """Log-probability of every word at one position of each sentence given the others, in nats."""
    if isinstance(world, LanguageModel):  # where every further position costs as much again
        return world.log_conditionals_at(tokens, places)
    return world.log_conditionals(tokens)[jnp.arange(len(tokens)), places]


def every_sentence(world: World) -> tuple[Int[Array, "n T"], Float[Array, "n"]]:
    """All sentences of a small world, the shortest first, and the probability of each.

    Raises:
        ValueError: if there are more than 2^20.
    """
    vocab_size, length = world.vocab_size, world.length
    count = sum(vocab_size**n for n in world.lengths)
    require("number of sentences", count, count <= MAX_SENTENCES, f"at most {MAX_SENTENCES}")
    tokens = jnp.concatenate(
        [
            jnp.pad(
                jnp.indices((vocab_size,) * n, dtype=jnp.int32).reshape(n, -1).T,
                ((0, 0), (0, length - n)),
                constant_values=PAD,
            )
            for n in world.lengths
        ]
    )
    return tokens, jnp.exp(world.log_probability(tokens))


def every_masked_context(world: World) -> MaskedContexts:
    """All sentences of a small world of one length, with one word hidden at a uniform position.

    The mean of a function over the loss's contexts is its weighted sum here, without sampling.

    Raises:
        ValueError: if sentences differ in length, or there are more than 2^20.
    """
    lengths = len(world.lengths)
    require("number of lengths", lengths, lengths == 1, "1, so that every place has one weight")
    vocab_size, length = world.vocab_size, world.length
    tokens, probability = map(np.asarray, every_sentence(world))
    conditionals = np.asarray(world.log_conditionals(tokens))
    table = probability.reshape((vocab_size,) * length)
    at_place = []
    for place in range(length):
        first = np.flatnonzero(tokens[:, place] == 0)  # one sentence per context, in order
        hidden = tokens[first]
        hidden[:, place] = vocab_size
        weights = table.sum(axis=place).ravel() / length
        at_place.append((hidden, np.full(len(first), place), weights, conditionals[first, place]))
    joined = [np.concatenate(columns) for columns in zip(*at_place, strict=True)]
    occurs = joined[2] > 0
    return MaskedContexts(*(column[occurs] for column in joined))


def conditional_entropies(
    log_conditionals: Float[Array | np.ndarray, "*n T V"],
) -> Float[Array, "*n T"]:
    """H(x_t | x_-t) of every position, in nats; 0 after the end of a sentence."""
    return jax.scipy.special.entr(jnp.exp(log_conditionals)).sum(axis=-1)


def entropy_floor(world: World, key: Key, num: int, *, per: Per = "sentence") -> Estimate:
    """H* = E H(x_t | x_-t), the least masked cross-entropy of any model, in nats per masked token.

    Args:
        world: its sentences have one masked token each.
        key: draws the sentences.
        num: sentences drawn, at least 2.
        per: the unit of equal weight, a "sentence" (with a uniform mask in it) or a "token" (longer
            sentences weigh more). They agree if all sentences have one length.

    Raises:
        ValueError: if ``num`` is below 2, or ``per`` is neither.
    """
    _check_num(num)
    tokens = world.sample(key, num).tokens
    return _average(*_floor_terms(world, tokens, per))


def exact_entropy_floor(world: World, *, per: Per = "sentence") -> Float[Array, ""]:
    """Compute :func:`entropy_floor` exactly, over every sentence.

    Raises:
        ValueError: if there are more than 2^20 sentences, or ``per`` is neither.
    """
    tokens, probability = every_sentence(world)
    return _expectation(probability, *_floor_terms(world, tokens, per))


def label_rates(world: World, key: Key, num: int) -> dict[str, LabelRates]:
    """Majority and Bayes accuracy of every label, among sentences that have a class.

    Args:
        world: one without labels gives an empty dict.
        key: draws the sentences.
        num: sentences drawn, at least 2. The majority class is chosen on the same sentences, which
            raises its rate by less than its standard error.

    Raises:
        ValueError: if ``num`` is below 2.
    """
    _check_num(num)
    posteriors = world.log_posteriors(world.sample(key, num).tokens)
    equal = jnp.full((num,), 1 / num)
    return {
        name: LabelRates(*(_average(*terms) for terms in _rate_terms(posterior, equal)))
        for name, posterior in posteriors.items()
    }


def exact_label_rates(world: World) -> dict[str, tuple[Float[Array, ""], Float[Array, ""]]]:
    """Compute :func:`label_rates` exactly, over every sentence: (majority, Bayes) by label.

    Raises:
        ValueError: if there are more than 2^20 sentences.
    """
    tokens, probability = every_sentence(world)
    rates = {}
    for name, posterior in world.log_posteriors(tokens).items():
        majority, bayes = _rate_terms(posterior, probability)
        rates[name] = _expectation(probability, *majority), _expectation(probability, *bayes)
    return rates


def _check_num(num: int) -> None:
    require("num", num, num >= 2, "at least 2, for a standard error")


Terms = tuple[Float[Array, "n"], Float[Array, "n"]]  # a rate is the sum of one over the other's


def _floor_terms(world: World, tokens: Int[Array, "n T"], per: Per) -> Terms:
    require("per", per, per in ("sentence", "token"), "'sentence' or 'token'")
    entropy = conditional_entropies(world.log_conditionals(tokens)).sum(axis=-1)
    lengths = (tokens != PAD).sum(axis=-1).astype(entropy.dtype)
    return (entropy, lengths) if per == "token" else (entropy / lengths, jnp.ones_like(lengths))


def _rate_terms(
    log_posterior: Float[Array, "n C"], weights: Float[Array, "n"]
) -> tuple[Terms, Terms]:
    """Terms of the majority rate, and of the Bayes rate."""
    has_class = ~jnp.isnan(log_posterior).any(axis=-1)
    posterior = jnp.where(has_class[:, None], jnp.exp(log_posterior), 0)
    majority = jnp.argmax(weights @ posterior)
    counted = has_class.astype(posterior.dtype)
    return (posterior[:, majority], counted), (posterior.max(axis=-1), counted)


def _average(numerator: Float[Array, "n"], denominator: Float[Array, "n"]) -> Estimate:
    """Ratio of the means over equally likely sentences, with the delta method's standard error."""
    num = len(numerator)
    ratio = numerator.sum() / denominator.sum()
    residuals = numerator - ratio * denominator
    spread = jnp.sqrt(jnp.square(residuals).sum() / (num - 1) / num)
    return Estimate(ratio, spread / denominator.mean())


def _expectation(
    probability: Float[Array, "n"], numerator: Float[Array, "n"], denominator: Float[Array, "n"]
) -> Float[Array, ""]:
    """Ratio of expectations; terms of a sentence that never occurs are ignored."""
    occurs = probability > 0
    weight = jnp.where(occurs, probability, 0)
    over = jnp.where(occurs, numerator, 0)
    return weight @ over / (weight @ jnp.where(occurs, denominator, 0))
