"""Any probabilistic grammar in Chomsky normal form: sentences of several lengths, by a chart.

A non-terminal becomes two non-terminals or one word. The inside probability of every span of a
sentence is computed width by width, at a cost of T³ K² + T² K³ per sentence. As in ``pcfg.py``, one
inside pass and one vector-Jacobian product give the conditionals of all positions.
"""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.process.errors import require
from el_jax.types import Key
from el_jax.worlds.world import (
    PAD,
    Sentences,
    Tokens,
    categorical,
    certain,
    check_rows,
    columns_of,
    draw_each,
    log_normalised,
    most_probable,
    with_known_tables,
)


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=("root", "rules", "words"),
    meta_fields=("length", "symbols", "vocabulary"),
)
@dataclass(frozen=True, eq=False)
class ChartGrammar:
    """A grammar in Chomsky normal form, restricted to sentences of at most T words.

    Sentences follow the grammar's distribution, conditioned on at most T words. Each label is the
    non-terminal with the largest inside probability p(span | symbol), the first in case of ties:
    ``sentence``, among those that a sentence may start from (task A of Liu, Xie, Li, Ma 2023);
    ``prefix_w``, for the first w words, w = 4 and 2 (tasks B and C), -1 if none spans them.

    Attributes:
        root: distribution of the non-terminal that becomes the sentence, ``[K]``.
        rules: probability of each pair below each symbol, ``[K, K, K]``.
        words: probability of each word below each symbol, ``[K, V]``; sums to 1 with the pairs.
        length: T.
        symbols: name of each non-terminal.
        vocabulary: the words.

    Raises:
        ValueError: if shapes disagree, a symbol's probabilities do not sum to 1 or the length is
            below 1.
    """

    root: Any
    rules: Any
    words: Any
    length: int
    symbols: tuple[str, ...]
    vocabulary: tuple[str, ...]

    def __post_init__(self) -> None:
        require("length", self.length, self.length >= 1, "at least 1")
        if with_known_tables(self, "root", "rules", "words"):
            num = len(self.symbols)
            check_rows("root", self.root, (num,))
            require(
                "rules.shape", self.rules.shape, self.rules.shape == (num,) * 3, f"{(num,) * 3}"
            )
            outcomes = np.concatenate([self.rules.reshape(num, -1), self.words], axis=1)
            check_rows("rules and words", outcomes, (num, num**2 + self.vocab_size))

    @property
    def vocab_size(self) -> int:
        """Number of words, ``V``."""
        return len(self.vocabulary)

    @property
    def lengths(self) -> range:
        """A sentence has 1 .. T words."""
        return range(1, self.length + 1)

    @property
    def num_classes(self) -> dict[str, int]:
        """K for the whole sentence and for each prefix that is not longer than T."""
        widths = [width for width in (4, 2) if width <= self.length]
        return {name: len(self.symbols) for name in ("sentence", *map("prefix_{}".format, widths))}

    def length_law(self) -> Float[Array, "T"]:
        """Probability under the grammar that a sentence has n words, for n = 1 .. T.

        The rest, up to 1, belongs to longer sentences, which the world leaves out.
        """
        return self._mass() @ jnp.asarray(self.root, float)

    def sample(self, key: Key, num: int) -> Sentences:
        """Draw ``num`` sentences: first the number of words, then splits that add up to it."""
        mass = self._mass()

        def draw(key: Key) -> Sentences:
            length_key, root_key, tree_key, word_key = jax.random.split(key, 4)
            root = mass * jnp.asarray(self.root, float)[None]
            last = categorical(length_key, root.sum(axis=-1))  # one less than the words
            symbols = jnp.zeros(self.length, jnp.int32).at[0].set(categorical(root_key, root[last]))
            widths = jnp.zeros(self.length, jnp.int32).at[0].set(last + 1)
            split = functools.partial(self._split, mass)
            keys = jax.random.split(tree_key, self.length - 1)
            if self.length > 1:  # a scan without steps traces its body on empty arrays
                (symbols, widths), _ = jax.lax.scan(split, (symbols, widths), keys)
            drawn = categorical(word_key, jnp.asarray(self.words, float)[symbols])
            return Sentences(jnp.where(widths > 0, drawn, PAD))

        return draw_each(draw, key, num)

    def log_probability(self, tokens: Tokens) -> Float[Array, "*n"]:
        """Log-probability of each sentence, in nats; -inf for one that never occurs."""
        charts, log_scales = self._charts(jnp.asarray(tokens))
        whole, log_scale = _whole(charts, log_scales, jnp.asarray(tokens))
        log_possible = jnp.log(self.length_law().sum())
        return jnp.log(whole @ jnp.asarray(self.root, float)) + log_scale - log_possible

    def log_conditionals(self, tokens: Tokens) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given the others, in nats.

        The number of words is given too. NaN if no word at the position makes a possible sentence,
        -inf after the end.
        """
        tokens = jnp.asarray(tokens)

        def scaled_probability(emitted: Array) -> Array:
            whole, _ = _whole(*self._inside(emitted), tokens)
            return (whole @ jnp.asarray(self.root, float)).sum()

        outside = jax.grad(scaled_probability)(self._emitted(tokens))
        conditionals = log_normalised(jnp.log(outside @ jnp.asarray(self.words, float)))
        return jnp.where(tokens[..., None] == PAD, -jnp.inf, conditionals)

    def log_next(self, tokens: Tokens) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given those before it, in nats.

        The rest of a row, up to 1, is the probability that the sentence has ended. NaN after a
        prefix that never occurs. It costs T times as much as :meth:`log_conditionals`.
        """
        emitted, places = self._emitted(jnp.asarray(tokens)), jnp.arange(self.length)
        any_word = jnp.asarray(self.words, float).sum(axis=-1)

        def at(place: Array) -> Array:
            def probability(known: Array) -> tuple[Array, Array]:
                """P(words continue here), and P(they do or end before); up to a factor."""
                charts, log_scales = self._inside(known)
                log_scales -= jnp.where(places >= place - 1, log_scales, -jnp.inf).max(
                    axis=-1, keepdims=True
                )
                # capped for the shorter sentences, left out below: an infinite factor, even times
                # 0, makes the gradient NaN
                factor = jnp.exp(jnp.minimum(log_scales, 0))
                of_width = charts[..., 0, :] @ jnp.asarray(self.root, float) * factor
                onward = jnp.where(places >= place, of_width, 0).sum(axis=-1)
                ended = jnp.where(places == place - 1, of_width, 0).sum(axis=-1)
                return onward.sum(), onward + ended

            known = jnp.where((places < place)[:, None], emitted, any_word)
            outside, total = jax.grad(probability, has_aux=True)(known)
            of_words = outside[..., place, :] @ jnp.asarray(self.words, float)
            return jnp.log(of_words) - jnp.log(total)[..., None]

        return jnp.moveaxis(jax.lax.map(at, places), 0, -2)

    def labels(self, sentences: Sentences) -> dict[str, Int[Array, "*n"]]:
        """The most probable symbol of the whole sentence and of each prefix."""
        charts, log_scales = self._charts(sentences.tokens)
        whole, _ = _whole(charts, log_scales, sentences.tokens)
        starts = jnp.asarray(self.root, float) > 0
        labels = {"sentence": most_probable(jnp.where(starts, whole, 0))}
        for name in [name for name in self.num_classes if name != "sentence"]:
            width = int(name.removeprefix("prefix_"))
            labels[name] = most_probable(charts[..., width - 1, 0, :])
        return labels

    def log_posteriors(self, tokens: Tokens) -> dict[str, Float[Array, "*n C"]]:
        """0 for the class of a sentence and -inf for others: the words determine it."""
        labels = self.labels(Sentences(jnp.asarray(tokens)))
        return {name: certain(labels[name], size) for name, size in self.num_classes.items()}

    def _mass(self) -> Float[Array, "T K"]:
        """Probability that each symbol becomes n words, for n = 1 .. T."""
        rules = jnp.asarray(self.rules, float)
        mass = jnp.asarray(self.words, float).sum(axis=-1)[None]
        for _ in range(self.length - 1):
            pairs = mass.T @ mass[::-1]  # left parts of 1 .. n words with right parts of n .. 1
            mass = jnp.concatenate([mass, jnp.einsum("nab,ab->n", rules, pairs)[None]])
        return mass

    def _split(
        self, mass: Float[Array, "T K"], spans: tuple[Array, Array], key: Key
    ) -> tuple[tuple[Array, Array], None]:
        """Split the first span of two words or more, if there is one.

        A span is stored at its first word: its symbol and its width, 0 where no span begins.
        """
        symbols, widths = spans
        start = jnp.argmax(widths > 1)
        width, rules = widths[start], jnp.asarray(self.rules, float)[symbols[start]]
        left_widths = jnp.arange(1, self.length)
        left = mass[left_widths - 1]
        right = jnp.where((left_widths < width)[:, None], mass[width - left_widths - 1], 0)
        width_key, pair_key = jax.random.split(key)
        chosen = categorical(width_key, jnp.einsum("ab,va,vb->v", rules, left, right))
        pairs = rules * jnp.outer(left[chosen], right[chosen])
        pair = categorical(pair_key, pairs.reshape(-1))
        first, second = jnp.divmod(pair, len(rules))
        middle = start + chosen + 1
        divided = (
            symbols.at[start].set(first).at[middle].set(second),
            widths.at[start].set(chosen + 1).at[middle].set(width - chosen - 1),
        )
        return jax.tree.map(lambda new, old: jnp.where(width > 1, new, old), divided, spans), None

    def _emitted(self, tokens: Int[Array, "*n T"]) -> Float[Array, "*n T K"]:
        """p(x_t | symbol), 0 after the end."""
        return jnp.where(tokens[..., None] == PAD, 0, columns_of(self.words, tokens, PAD))

    def _charts(self, tokens: Tokens) -> tuple[Float[Array, "*n T T K"], Float[Array, "*n T"]]:
        return self._inside(self._emitted(jnp.asarray(tokens)))

    def _inside(
        self, emitted: Float[Array, "*n T K"]
    ) -> tuple[Float[Array, "*n T T K"], Float[Array, "*n T"]]:
        """Scaled inside probabilities ``[width - 1, start]``, and log-scales as in `_chart`."""
        chart = functools.partial(_chart, jnp.asarray(self.rules, float))
        for _ in emitted.shape[:-2]:
            chart = jax.vmap(chart)
        return chart(emitted)


def _chart(
    rules: Float[Array, "K K K"], emitted: Float[Array, "T K"]
) -> tuple[Float[Array, "T T K"], Float[Array, "T"]]:
    """The chart of one sentence, and the log-scale of a span of n words that is the whole sentence.

    Trees over w words have w - 1 pairs, whatever their splits. So each word is divided by its own
    number and all spans of a width by one more, held constant under differentiation; otherwise
    probabilities leave float32's range.
    """
    length, num_symbols = emitted.shape
    left_widths = jnp.arange(1, length)
    middles = np.add.outer(np.arange(1, length), np.arange(length))  # first word of right parts

    def of_width(carry: tuple[Array, Array], width: Array) -> tuple[tuple[Array, Array], None]:
        chart, log_scales = carry
        fits = left_widths < width
        right_widths = jnp.where(fits, width - left_widths, 1)
        log_split = jnp.where(fits, log_scales[:-1] + log_scales[right_widths - 1], -jnp.inf)
        largest_split = log_split.max()
        right = chart[right_widths[:, None] - 1, np.minimum(middles, length - 1)]
        inside = (middles < length) & fits[:, None]
        weight = jnp.where(inside, jnp.exp(log_split - largest_split)[:, None], 0)
        pairs = jnp.einsum("via,vib,vi->iab", chart[:-1], right, weight)
        spans = jnp.einsum("nab,iab->in", rules, pairs)
        largest = jax.lax.stop_gradient(spans.max())
        # if no span of this width is derived, about the cost of one more pair
        scale = jnp.where(largest > 0, largest, 1 / num_symbols)
        log_scale = largest_split + jnp.log(scale)
        return (
            chart.at[width - 1].set(spans / scale),
            log_scales.at[width - 1].set(log_scale),
        ), None

    largest = jax.lax.stop_gradient(emitted.max(axis=-1, keepdims=True))
    scale = jnp.where(largest > 0, largest, 1)
    chart = jnp.zeros((length, length, num_symbols), emitted.dtype).at[0].set(emitted / scale)
    log_scales = jnp.zeros(length, emitted.dtype)
    if length > 1:
        carry = chart, log_scales
        (chart, log_scales), _ = jax.lax.scan(of_width, carry, jnp.arange(2, length + 1))
    return chart, log_scales + jnp.cumsum(jnp.log(scale[:, 0]))


def _whole(
    charts: Float[Array, "*n T T K"], log_scales: Float[Array, "*n T"], tokens: Int[Array, "*n T"]
) -> tuple[Float[Array, "*n K"], Float[Array, "*n"]]:
    """Scaled inside probabilities of the span of all words, and the log of their scale."""
    last = (tokens != PAD).sum(axis=-1) - 1
    whole = jnp.take_along_axis(charts[..., 0, :], last[..., None, None], axis=-2)[..., 0, :]
    return whole, jnp.take_along_axis(log_scales, last[..., None], axis=-1)[..., 0]
