"""Sentences of a causal language model: the world whose tables are a network's parameters.

    run = el_jax.load("runs/teacher")  # trained on the task causal
    batch = run.task.pack(run.task.train_set())
    world = restricted_model(
        run.model.apply,
        run.params(seed=0),
        np.bincount(batch.labels[batch.mask], minlength=run.task.vocab_size),
        num_words=64,
        begin=run.task.special_ids[0],
        length=12,
    )

Source: Liu, Xie, Li, Ma 2023 (arXiv 2210.14199), section 3: sentences of 24 tokens from OPT-125M,
restricted to the 2000 most frequent ones and started with its begin token; entropy 1.865 nats.

The world only uses the network's logits. A config specifies it by the files of the network
(``models/teacher.py``).
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.process.errors import require
from el_jax.types import Batch, Key, Params
from el_jax.worlds.world import (
    Sentences,
    Tokens,
    categorical,
    check_sentences,
    draw_each,
    log_normalised,
)

AT_ONCE = 512  # sentences per forward pass, at most


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=("params", "words"),
    meta_fields=("apply", "begin", "length"),
)
@dataclass(frozen=True, eq=False)
class LanguageModel:
    """Sentences of T words, each drawn by a causal network given the earlier ones.

    The network's next-token distribution is restricted to some tokens, the words, and renormalised.
    There are no labels.

    Attributes:
        apply: ``apply(params, batch) -> logits [B, P, tokens]``, as in ``ModelFns``, of a network
            that does not see later tokens.
        params: the network's parameters.
        words: the token of each word, ``[V]``.
        begin: the token before the first word.
        length: T, at least 1.

    Raises:
        ValueError: if words repeat, or the length is below 1.
    """

    apply: Callable[..., Array]
    params: Params
    words: Any
    begin: int
    length: int

    def __post_init__(self) -> None:
        require("length", self.length, self.length >= 1, "at least 1")
        if isinstance(self.words, np.ndarray):
            distinct, num = len(np.unique(self.words)), len(self.words)
            require("distinct words", distinct, distinct == num >= 1, f"all of {num}, and some")

    @property
    def vocab_size(self) -> int:
        """Number of words, ``V``."""
        return self.words.shape[0]

    @property
    def lengths(self) -> range:
        """Every sentence has T words."""
        return range(self.length, self.length + 1)

    @property
    def num_classes(self) -> dict[str, int]:
        """No labels."""
        return {}

    def sample(self, key: Key, num: int) -> Sentences:
        """Draw ``num`` sentences, at the cost of T forward passes of whole sentences."""

        def draw(key: Key) -> Sentences:
            def step(words: Array, place: Array) -> tuple[Array, None]:
                law = jnp.exp(self._log_next(words[None], place[None])[0, 0])
                word = categorical(jax.random.fold_in(key, place), law)
                return words.at[place].set(word), None

            blank = jnp.zeros(self.length, jnp.int32)  # no earlier word sees these positions
            return Sentences(jax.lax.scan(step, blank, jnp.arange(self.length))[0])

        return draw_each(draw, key, num, at_once=AT_ONCE)

    def log_probability(self, tokens: Tokens) -> Float[Array, "*n"]:
        """Log-probability of each sentence, in nats."""
        of_words = jnp.take_along_axis(self.log_next(tokens), jnp.asarray(tokens)[..., None], -1)
        return of_words.sum(axis=(-2, -1))

    def log_next(self, tokens: Tokens) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given those before it, in nats."""
        check_sentences(self, tokens)
        rows = jnp.asarray(tokens).reshape(-1, self.length)
        found = self._log_next(rows, jnp.arange(self.length))
        return found.reshape(*tokens.shape, self.vocab_size)

    def log_conditionals(self, tokens: Tokens) -> Float[Array, "*n T V"]:
        """Log-probability of every word at every position given the others, in nats.

        Calls :meth:`log_conditionals_at` for every position, at T times its cost.
        """
        check_sentences(self, tokens)
        rows = jnp.asarray(tokens).reshape(-1, self.length)
        places = jnp.tile(jnp.arange(self.length), len(rows))
        found = self.log_conditionals_at(jnp.repeat(rows, self.length, axis=0), places)
        return found.reshape(*tokens.shape, -1)

    def log_conditionals_at(
        self, tokens: Int[Array, "n T"], places: Int[Array, "n"]
    ) -> Float[Array, "n V"]:
        """Log-probability of every word at one position of each sentence given the others, in nats.

        It normalises the joint probability of the sentence with each of the V words there. That
        takes V forward passes per sentence; half the work is on words before the position, where
        candidates do not differ. Memory is that of 512 sentences.
        """
        check_sentences(self, tokens)
        shape = len(tokens), self.vocab_size

        def joint(candidate: Array) -> Array:
            row, word = jnp.unravel_index(candidate, shape)
            changed = tokens[row].at[places[row]].set(word.astype(tokens.dtype))
            return self.log_probability(changed)

        candidates = jnp.arange(np.prod(shape))
        joints = jax.lax.map(joint, candidates, batch_size=AT_ONCE).reshape(shape)
        return log_normalised(joints)

    def labels(self, _: Sentences) -> dict[str, Int[Array, "*n"]]:
        """No labels."""
        return {}

    def log_posteriors(self, _: Tokens) -> dict[str, Float[Array, "*n C"]]:
        """No labels."""
        return {}

    def _log_next(self, rows: Int[Array, "B T"], places: Int[Array, "P"]) -> Float[Array, "B P V"]:
        """Log-probability of every word at some positions given the earlier words."""
        words, real = jnp.asarray(self.words), jnp.result_type(float)
        before = jnp.pad(words[rows[:, :-1]], ((0, 0), (1, 0)), constant_values=self.begin)
        supervised = jnp.broadcast_to(places, (len(rows), len(places)))
        nothing = jnp.zeros_like(supervised)
        batch = Batch(before, supervised, labels=nothing, mask=nothing == 0, groups=nothing)
        params = jax.tree.map(lambda leaf: jnp.asarray(leaf, real), self.params)
        logits = self.apply(params, batch).astype(real)
        return jax.nn.log_softmax(logits[..., words])


def restricted_model(
    apply: Callable[..., Array],
    params: Params,
    counts: Int[Array | np.ndarray, "tokens"],
    *,
    num_words: int,
    begin: int,
    length: int,
) -> LanguageModel:
    """The world of a network, restricted to the most frequent tokens.

    Args:
        apply: as in ``ModelFns``; the network must not see later tokens.
        params: the network's parameters.
        counts: count of each token, in the text that defines frequency.
        num_words: V; word 0 is the most frequent token, and ties go to the lowest.
        begin: the token before the first word; not itself a word.
        length: T.

    Raises:
        ValueError: if fewer tokens than ``num_words`` occur, or the length is below 1.
    """
    occurring = np.array(counts)
    occurring[begin] = 0
    most = int((occurring > 0).sum())
    require("num_words", num_words, 1 <= num_words <= most, f"in 1..{most}, the tokens that occur")
    words = np.argsort(-occurring, kind="stable")[:num_words].astype(np.int32)
    return LanguageModel(apply, jax.tree.map(np.asarray, params), words, begin, length)
