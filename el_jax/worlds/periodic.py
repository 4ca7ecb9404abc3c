"""A random phrase, repeated to the end of the sentence: words that the context alone determines.

The phrase is new in every sentence, so its first words can only be guessed, and the later ones only
be copied from the context; an attention head that copies them is an induction head (Olsson et al.
2022, arXiv 2209.11895). The phrase's length varies, so a copy is not at a fixed distance.
"""

import functools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

from el_jax.process.errors import require
from el_jax.types import Key
from el_jax.worlds.world import Sentences, Tokens, check_sentences, draw_each, log_normalised


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=(),
    meta_fields=("vocab_size", "length", "least_period", "most_period"),
)
@dataclass(frozen=True)
class Periodic:
    """Sentences of T words with x_t = x_{t-L}; the first L words are uniform and independent.

    The period L is uniform in ``least_period .. most_period`` and is the label ``period``.

    Attributes:
        vocab_size: V.
        length: T.
        least_period: the least L.
        most_period: the largest L, at most T.

    Raises:
        ValueError: if a number is out of its range.
    """

    vocab_size: int = 64
    length: int = 24
    least_period: int = 6
    most_period: int = 10

    def __post_init__(self) -> None:
        least, most = self.least_period, self.most_period
        require("vocab_size", self.vocab_size, self.vocab_size >= 1, "at least 1")
        require("least_period", least, least >= 1, "at least 1")
        allowed = f"in least_period={least}..length={self.length}"
        require("most_period", most, least <= most <= self.length, allowed)

    @property
    def lengths(self) -> range:
        """Every sentence has T words."""
        return range(self.length, self.length + 1)

    @property
    def num_classes(self) -> dict[str, int]:
        """The label ``period``, counted from the least."""
        return {"period": self.most_period - self.least_period + 1}

    @property
    def _periods(self) -> np.ndarray:
        return np.arange(self.least_period, self.most_period + 1)

    def sample(self, key: Key, num: int) -> Sentences:
        """Draw ``num`` sentences; the hidden draw of each is its period."""

        def draw(key: Key) -> Sentences:
            phrase_key, period_key = jax.random.split(key)
            shape, within = (self.most_period,), (self.least_period, self.most_period + 1)
            phrase = jax.random.randint(phrase_key, shape, 0, self.vocab_size, jnp.int32)
            period = jax.random.randint(period_key, (), *within, jnp.int32)
            return Sentences(phrase[jnp.arange(self.length) % period], period)

        return draw_each(draw, key, num)

    def log_probability(self, tokens: Tokens) -> Float[Array, "*n"]:
        """Log-probability of each sentence, in nats."""
        return jax.nn.logsumexp(self._log_joint(tokens)[..., -1, :], axis=-1)

    def log_conditionals(self, tokens: Tokens) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given the others, in nats.

        NaN if no word there makes a sentence with a period.
        """
        before, after = self._is_copy(tokens, -1), self._is_copy(tokens, 1)
        broken, broken_after = ~_at(before, tokens), ~_at(after, tokens)
        # without x_t, the pairs of words that break a period are all but x_t's own two
        others = broken.sum(axis=-2, keepdims=True) == broken + broken_after.astype(int)
        possible = before & after & others[..., None, :]
        log_phrase = _broadcast(-math.log(self.vocab_size) * self._periods, possible)
        log_weights = jax.nn.logsumexp(jnp.where(possible, log_phrase, -jnp.inf), axis=-1)
        return log_normalised(log_weights)

    def log_next(self, tokens: Tokens) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given those before it, in nats."""
        joint = self._log_joint(tokens)
        prior = jnp.full_like(joint[..., :1, :], -math.log(len(self._periods)))
        earlier = jnp.concatenate([prior, joint[..., :-1, :]], axis=-2)[..., None, :]
        onward = jax.nn.logsumexp(earlier + self._log_laws(tokens), axis=-1)
        return onward - jax.nn.logsumexp(earlier, axis=-1)

    def labels(self, sentences: Sentences) -> dict[str, Int[Array, "*n"]]:
        """The period of the draw; a sentence of period 2 also has period 4."""
        return {"period": sentences.hidden - self.least_period}

    def log_posteriors(self, tokens: Tokens) -> dict[str, Float[Array, "*n C"]]:
        """Log-probability of each period given the sentence, in nats."""
        return {"period": log_normalised(self._log_joint(tokens)[..., -1, :])}

    def _log_joint(self, tokens: Tokens) -> Float[Array, "*n T C"]:
        """The log-probability of every period together with the words up to each."""
        of_words = _at(self._log_laws(tokens), tokens)
        return of_words.cumsum(axis=-2) - math.log(len(self._periods))

    def _log_laws(self, tokens: Tokens) -> Float[Array, "*n T V C"]:
        """The log-probability of every word at every position given those before and a period."""
        copied = self._is_copy(tokens, -1)
        is_phrase = np.arange(self.length)[:, None, None] < self._periods
        guess = _broadcast(-math.log(self.vocab_size) * is_phrase, copied)
        return jnp.where(copied, guess, -jnp.inf)

    def _is_copy(self, tokens: Tokens, sign: int) -> Bool[Array, "*n T V C"]:
        """Whether a word equals the one a period before (-1) or after (1), or there is none."""
        check_sentences(self, tokens)
        places = np.arange(self.length)[:, None] + sign * self._periods
        outside = (places < 0) | (places >= self.length)
        there = jnp.asarray(tokens)[..., places % self.length][..., None, :]
        same = there == _broadcast(np.arange(self.vocab_size)[:, None], there)
        return same | _broadcast(outside[:, None], same)


def _at(table: Array, tokens: Tokens) -> Array:
    """The entries of the sentence's own words, ``[*n, T, V, C]`` to ``[*n, T, C]``."""
    return jnp.take_along_axis(table, jnp.asarray(tokens)[..., None, None], axis=-2)[..., 0, :]


def _broadcast(table: np.ndarray, like: Array) -> Array:
    """A table with as many axes as another array has."""
    return jnp.asarray(table).reshape((1,) * (like.ndim - table.ndim) + table.shape)
