"""Next-word prediction on sentences of a world with known probabilities.

A window is ``<BEGIN> x_1 .. x_T``; every token but the last has the next one as its target. If
sentences have several lengths, ``<END>`` follows the last word and is a target as well, so a
model's probabilities of the targets multiply to that of the sentence. The least loss is then the
world's entropy rate: E -log p(x), over the expected number of supervised tokens.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int

from el_jax.tasks.packing import pack_windows
from el_jax.tasks.sentences import Corpus, WorldSentences
from el_jax.types import Batch, Key
from el_jax.worlds import PAD, Sentences


@dataclass(frozen=True)
class CausalWords(WorldSentences[Sentences]):
    """Causal language modelling of a world."""

    group_names: ClassVar[tuple[str, ...]] = ("next",)
    labels_follow: ClassVar[bool] = True

    @property
    def special_ids(self) -> tuple[int, int]:
        """Tokens BEGIN and END, which is also the padding; the words are ``0 .. V - 1``."""
        words = self.world.make().vocab_size
        return words, words + 1

    @property
    def vocab_size(self) -> int:
        """Words and the two special tokens."""
        return self.world.make().vocab_size + 2

    @property
    def window_length(self) -> int:
        """BEGIN, the longest sentence, and END if lengths differ."""
        return 1 + self.answer_length

    @property
    def answer_length(self) -> int:
        """Slots for the supervised tokens of one sentence, P; an exact match has all correct."""
        return self.world.make().length + self._asks_for_end

    def ask(self, tokens: Int[Array, "S T"], _: Key) -> Sentences:
        """The sentences themselves: every word is supervised."""
        return Sentences(tokens)

    def pack(self, examples: Corpus | Sentences) -> Batch:
        """Each sentence as a window."""
        sentences = examples.sentences if isinstance(examples, Corpus) else examples
        tokens, places = sentences.tokens, np.arange(self.answer_length)
        begin, end = self.special_ids
        words = jnp.where(tokens == PAD, end, tokens)
        added = ((0, 0), (1, self._asks_for_end))
        windows = jnp.pad(words, added, constant_values=((0, 0), (begin, end)))
        groups = jnp.zeros(len(tokens), jnp.int32)
        batch = pack_windows(windows, groups, places, strings_per_window=1)
        asked = (tokens != PAD).sum(axis=1, keepdims=True) + self._asks_for_end
        return batch._replace(mask=jnp.asarray(places)[None] < asked)

    @property
    def _asks_for_end(self) -> int:
        """1 if sentences have several lengths."""
        return int(len(self.world.make().lengths) > 1)
