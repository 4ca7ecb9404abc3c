"""Classification of a sentence: a model reads all of its words and predicts the class.

A window is ``x_1 .. x_T <ASK>``; the target at the last token is the sentence's class under one
label of the world. If the words do not determine the class, as in a hidden Markov model, the target
is the most probable one; a sentence without a class is not supervised.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Int

from el_jax.process.errors import require
from el_jax.tasks.sentences import Corpus, WorldSentences
from el_jax.types import Batch, Key
from el_jax.worlds import PAD
from el_jax.worlds.world import most_probable


class LabelledSentences(NamedTuple):
    """Sentences and their classes.

    Attributes:
        tokens: words, ``PAD`` after the end, ``[S, T]``.
        classes: class of each sentence, -1 if it has none, ``[S]``.
    """

    tokens: Int[Array, "S T"]
    classes: Int[Array, "S"]


@dataclass(frozen=True)
class SentenceLabel(WorldSentences[LabelledSentences]):
    """Classification of the sentences of a world.

    Attributes:
        label: a label of the world.
    """

    label: str = "sentence"
    group_names: ClassVar[tuple[str, ...]] = ("label",)
    labels_follow: ClassVar[bool] = False
    answer_length: ClassVar[int] = 1

    @property
    def num_classes(self) -> int:
        """Classes, ``C``.

        Raises:
            ValueError: the world has no such label.
        """
        known = self.world.make().num_classes
        require("label", self.label, self.label in known, f"one of {', '.join(known) or 'none'}")
        return known[self.label]

    @property
    def special_ids(self) -> tuple[int, int]:
        """Tokens ASK and PAD; words and classes are ``0 .. max(V, C) - 1``."""
        first = max(self.world.make().vocab_size, self.num_classes)
        return first, first + 1

    @property
    def vocab_size(self) -> int:
        """Words or classes, whichever is more, and the two special tokens."""
        return self.special_ids[-1] + 1

    @property
    def window_length(self) -> int:
        """The longest sentence and ASK."""
        return self.world.make().length + 1

    def ask(self, tokens: Int[Array, "S T"], _: Key) -> LabelledSentences:
        """Each sentence with its class."""
        log_posterior = self.world.make().log_posteriors(tokens)[self.label]
        posterior = jnp.nan_to_num(jnp.exp(log_posterior))
        return LabelledSentences(tokens, most_probable(posterior).astype(jnp.int32))

    def pack(self, examples: Corpus | LabelledSentences) -> Batch:
        """Each sentence as a window; padding is a document of its own, which no word attends to."""
        tokens, classes = examples.sentences if isinstance(examples, Corpus) else examples
        ask, pad = self.special_ids
        rows, end = jnp.arange(len(tokens)), (tokens != PAD).sum(axis=1)
        window = jnp.pad(tokens, ((0, 0), (0, 1)), constant_values=PAD).at[rows, end].set(ask)
        behind = window == PAD
        one_length = len(self.world.make().lengths) == 1
        return Batch(
            tokens=jnp.where(behind, pad, window),
            supervised=end[:, None].astype(jnp.int32),
            labels=jnp.maximum(classes, 0)[:, None],
            mask=(classes >= 0)[:, None],
            groups=jnp.zeros((len(tokens), 1), jnp.int32),
            documents=None if one_length else behind.astype(jnp.int32),
        )
