"""The interface of a world, and shared code: sentences, draws and checks of tables.

Notation of this package, in addition to ``types.py``:

=====  ==========================================================================
``T``  tokens of the longest sentence
``V``  words of the vocabulary
``S``  states of a hidden Markov model
``K``  non-terminals of a grammar
``C``  classes of a label
=====  ==========================================================================
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer
from jaxtyping import Float, Int

from el_jax.process.errors import require
from el_jax.types import Key

PAD = -1
"""The token after the end of a sentence shorter than T."""

# Printed probabilities are rounded; larger deviations are mistakes.
_ROW_TOLERANCE = 1e-5


Tokens = Int[Array | np.ndarray, "*n T"]
"""Sentences as words ``0 .. V - 1``, ``PAD`` after the end of each."""


class Sentences(NamedTuple):
    """Sentences of a world.

    Attributes:
        tokens: words ``0 .. V - 1``, ``PAD`` after the end, ``[*n, T]``.
        hidden: latent draws of the world, which only its ``labels`` read; None if there are none.
    """

    tokens: Int[Array, "*n T"]
    hidden: Any = None


@runtime_checkable
class World(Protocol):
    """A distribution over sentences whose probabilities are known exactly.

    A world is a pytree of probability tables: it may be a constant of a compiled program or an
    argument of it. Its methods are pure, compile nothing themselves, and compute in float32, or in
    float64 inside ``jax.enable_x64(True)``.
    """

    @property
    def vocab_size(self) -> int:
        """Number of words, ``V``."""

    @property
    def length(self) -> int:
        """Tokens of the longest sentence, ``T``."""

    @property
    def lengths(self) -> range:
        """Numbers of tokens that a sentence may have; the last is T."""

    @property
    def num_classes(self) -> dict[str, int]:
        """Number of classes of each label, by name: the downstream tasks of this world."""

    def sample(self, key: Key, num: int, /) -> Sentences:
        """Draw ``num`` sentences; sentence ``i`` depends on the key and on ``i`` only."""

    def log_probability(self, tokens: Tokens, /) -> Float[Array, "*n"]:
        """Log-probability of each sentence, in nats; -inf for one that never occurs."""

    def log_conditionals(self, tokens: Tokens, /) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given the others, in nats.

        Entry ``[t, v]`` is log p(x_t = v | x_-t). Row t does not depend on the word at t. It is NaN
        if no word at t makes a possible sentence, and -inf after the end of a sentence.
        """

    def log_next(self, tokens: Tokens, /) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given those before it, in nats.

        Entry ``[t, v]`` is log p(x_t = v | x_<t). The rest of a row, up to 1, is the probability
        that the sentence has ended. A row is NaN after a prefix that never occurs.
        """

    def labels(self, sentences: Sentences, /) -> dict[str, Int[Array, "*n"]]:
        """The class of each sentence under every label; -1 where it has none."""

    def log_posteriors(self, tokens: Tokens, /) -> dict[str, Float[Array, "*n C"]]:
        """Log-probability of each class given the sentence, in nats; NaN where it has no class."""


def draw_each(
    draw: Callable[[Key], Sentences], key: Key, num: int, *, at_once: int | None = None
) -> Sentences:
    """Draw ``num`` sentences, each with its own key, so a larger set begins with the smaller one.

    Args:
        draw: draws one sentence.
        key: the key for all.
        num: number of sentences.
        at_once: the most to draw in parallel; all if None.

    Raises:
        ValueError: if ``num`` is negative.
    """
    require("num", num, num >= 0, "at least 0")

    def draw_number(i: Array) -> Sentences:
        return draw(jax.random.fold_in(key, i))

    if at_once is None or num <= at_once:
        return jax.vmap(draw_number)(jnp.arange(num))
    return jax.lax.map(draw_number, jnp.arange(num), batch_size=at_once)


def columns_of(table: Any, tokens: Tokens, least: int = 0) -> Float[Array, "*n T S"]:
    """The column of each word in a table ``[S, V]``, such as p(x_t | state).

    Args:
        table: the table.
        tokens: words; indexing alone would take one outside the vocabulary for another.
        least: the least token, ``PAD`` if there may be one; its column is the last word's.

    Raises:
        ValueError: a token whose value is known here, not a traced one, is out of range.
    """
    columns = jnp.asarray(table, float).T
    check_words(tokens, len(columns), least)
    return columns[tokens]


def check_words(tokens: Tokens, vocab_size: int, least: int = 0) -> None:
    """Check that words are in ``least .. vocab_size - 1``, if their values are known here.

    Raises:
        ValueError: one is not.
    """
    if not isinstance(tokens, jax.core.Tracer) and getattr(tokens, "is_fully_addressable", True):
        ids = np.asarray(tokens)
        wrong = ids[(ids < least) | (ids >= vocab_size)]
        if wrong.size:
            raise ValueError(
                f"token {wrong[0]}: must be in {least} .. {vocab_size - 1}, the words of the "
                "world; leave out begin and mask tokens"
            )


def check_sentences(world: World, tokens: Tokens) -> None:
    """Check that tokens are words of a world of one length, and as many as its sentences have.

    Raises:
        ValueError: they are not.
    """
    num, length = tokens.shape[-1], world.length
    require("words of a sentence", num, num == length, f"{length}, not a part of the sentence")
    check_words(tokens, world.vocab_size)


def categorical(key: Key, weights: Float[Array, "*n C"]) -> Int[Array, "*n"]:
    """Draw one class per row in proportion to its weight, from one uniform number per draw.

    A class of weight 0 is never drawn. A probability below the spacing of the uniform numbers
    (1e-7 in float32) is rounded to it.
    """
    sums = cumulative(weights)
    total = sums[..., -1:]
    # the product may round up to the total, beyond the last class
    below = (sums <= total * jax.random.uniform(key, total.shape, total.dtype)) & (sums < total)
    return below.sum(axis=-1, dtype=jnp.int32)


def cumulative(weights: Any) -> Float[Array, "*n C"]:
    """Sums of the weights up to each class, for :func:`categorical_of`."""
    # XLA would take seconds to fold the sums of a constant at compile time
    weights = jax.lax.optimization_barrier(jnp.asarray(weights))
    # rounded sums must neither fall nor grow where nothing is added
    sums = jnp.where(weights > 0, jnp.cumsum(weights, axis=-1), 0)
    return jax.lax.cummax(sums, axis=sums.ndim - 1)


def categorical_of(key: Key, sums: Float[Array, "R C"], row: Int[Array, "*n"]) -> Int[Array, "*n"]:
    """Draw as :func:`categorical` does from rows of a table, by bisection of cumulative weights.

    A draw reads about log2 C numbers of its row instead of C.
    """
    total = sums[row, -1]
    threshold = total * jax.random.uniform(key, total.shape, total.dtype)
    drawn, num = jnp.zeros_like(row), sums.shape[-1]
    for bit in reversed(range((num - 1).bit_length())):
        further = drawn + 2**bit
        sum_there = sums[row, further - 1]
        below = (further < num) & (sum_there <= threshold) & (sum_there < total)
        drawn = jnp.where(below, further, drawn)
    return drawn


def log_normalised(log_weights: Float[Array, "*n C"]) -> Float[Array, "*n C"]:
    """Log-weights minus the log of their row's sum; NaN in rows that are all -inf."""
    return log_weights - jax.nn.logsumexp(log_weights, axis=-1, keepdims=True)


def most_probable(scores: Float[Array, "*n C"]) -> Int[Array, "*n"]:
    """The class with the largest score (ties: the first); -1 if no score is positive."""
    return jnp.where(scores.max(axis=-1) > 0, jnp.argmax(scores, axis=-1), -1)


def certain(labels: Int[Array, "*n"], num_classes: int) -> Float[Array, "*n C"]:
    """Log-posteriors of labels that the sentence determines; NaN if it has no label."""
    one_hot = jax.nn.one_hot(labels, num_classes, dtype=jnp.result_type(float))
    return jnp.where(labels[..., None] < 0, jnp.nan, jnp.log(one_hot))


def with_known_tables(world: Any, *names: str) -> bool:
    """Turn a new world's tables into NumPy arrays of floats; False while they are traced.

    Lists and JAX arrays become NumPy's, whose values its constructor can check. A traced copy of a
    world was checked when the world was made.
    """
    tables = {name: getattr(world, name) for name in names}
    kinds = (np.ndarray, list, tuple, jax.Array)
    known = all(isinstance(t, kinds) and not isinstance(t, Tracer) for t in tables.values())
    if known:
        for name, table in tables.items():
            object.__setattr__(world, name, np.asarray(table, float))
    return known


def check_rows(name: str, table: np.ndarray, shape: tuple[int, ...], *, axes: int = 1) -> None:
    """Check a table of probabilities.

    Args:
        name: name of the table.
        table: one distribution per row.
        shape: its required shape.
        axes: number of last axes over which a distribution sums to 1.

    Raises:
        ValueError: if the shape differs, or a distribution is negative, not finite or does not sum
            to 1 within 1e-5.
    """
    require(f"{name}.shape", table.shape, table.shape == shape, f"{shape}")
    laws = table.reshape(*shape[:-axes], -1) if table.size else np.ones((*shape[:-axes], 1))
    totals, least = laws.sum(axis=-1), laws.min(axis=-1)
    bad = ~((least >= 0) & (np.abs(totals - 1) <= _ROW_TOLERANCE))  # NaN is bad too
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f"{name}[{', '.join(map(str, place))}]" if place else name
        raise ValueError(
            f"{where} sums to {totals[place]:.7g} with least entry {least[place]:.7g}: "
            "must be probabilities that sum to 1"
        )
