"""Masked language modelling on sentences of a world with known conditionals.

An input is ``<CLS> x_1 .. x_T`` with some words hidden, which the model predicts. With
``masking="one"`` one word of each sentence is hidden, at a uniform position, as in the loss of Liu,
Xie, Li, Ma 2023 (arXiv 2210.14199); its least value is the world's entropy floor.
``masking="bert"`` follows their released code (Devlin et al. 2019): it selects 15 % of the words,
at least one and at most five, of which 80 % show ``<MASK>``, 10 % a random word, and 10 %
themselves.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Int

from el_jax.process.errors import require
from el_jax.tasks.sentences import DOWNSTREAM, Corpus, WorldSentences
from el_jax.types import Batch, Key
from el_jax.worlds import PAD, Sentences

MASKED_SHARE, MOST_MASKED = 0.15, 5  # for masking="bert"
SHOWN_MASKED, SHOWN_AS_IS = 0.8, 0.1
_LABELLED = 0x4C414245  # the stream of labelled sentences, far above the numbers of updates


class MaskedSentences(NamedTuple):
    """Sentences and their hidden words.

    Attributes:
        tokens: words, ``PAD`` after the end, ``[S, T]``.
        places: positions of the hidden words, counted from 0, ``[S, P]``.
        shown: the token shown there, ``[S, P]``.
        asked: False for an unused slot, ``[S, P]``.
    """

    tokens: Int[Array, "S T"]
    places: Int[Array, "S P"]
    shown: Int[Array, "S P"]
    asked: Bool[Array, "S P"]


class Labelled(NamedTuple):
    """Sentences with the labels of a downstream task.

    Attributes:
        windows: whole sentences, without supervised positions.
        labels: the class of each, ``[n]``.
    """

    windows: Batch
    labels: Int[Array, " n"]


@dataclass(frozen=True)
class MaskedWords(WorldSentences[MaskedSentences]):
    """Masked language modelling of a world; every update hides different words.

    Attributes:
        masking: ``"one"`` word per sentence, or ``"bert"``.
        downstream: labels of the world that the probe "downstream" predicts; all if empty.
    """

    masking: str = "one"
    downstream: tuple[str, ...] = ()
    group_names: ClassVar[tuple[str, ...]] = ("masked",)
    labels_follow: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require("masking", self.masking, self.masking in ("one", "bert"), "'one' or 'bert'")

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels that the probe "downstream" predicts.

        Raises:
            ValueError: the world has no such label.
        """
        labels = self.world.make().num_classes
        known = f"among the world's labels {', '.join(labels)}"
        require("downstream", self.downstream, {*self.downstream} <= {*labels}, known)
        return self.downstream or tuple(labels)

    @property
    def special_ids(self) -> tuple[int, int, int]:
        """Tokens MASK, CLS and PAD; the words are ``0 .. V - 1``."""
        words = self.world.make().vocab_size
        return words, words + 1, words + 2

    @property
    def vocab_size(self) -> int:
        """Words and the three special tokens."""
        return self.world.make().vocab_size + 3

    @property
    def window_length(self) -> int:
        """CLS and the longest sentence."""
        return 1 + self.world.make().length

    @property
    def answer_length(self) -> int:
        """Slots for hidden words of one sentence, P; an exact match has all correct."""
        return 1 if self.masking == "one" else min(MOST_MASKED, self.world.make().length)

    def downstream_set(self, num: int) -> Sentences:
        """``num`` sentences, from which the world reads their labels."""
        key = jax.random.fold_in(jax.random.key(self.data_seed), DOWNSTREAM)
        return self.world.make().sample(key, num)

    def labelled_at(
        self, label: str, num: int, train_set: Corpus, step: int | Int[Array, ""], key: Key
    ) -> Labelled:
        """``num`` new labelled sentences for an update, different from its training sentences.

        Args:
            label: a label of the world.
            num: number of sentences.
            train_set: this task's.
            step: number of earlier updates; may be traced.
            key: one per run.
        """
        of_step = jax.random.fold_in(jax.random.fold_in(key, _LABELLED), step)
        sentences = train_set.world.sample(of_step, num)
        labels = train_set.world.labels(sentences)[label]
        return Labelled(self.whole(sentences.tokens), labels)

    def whole(self, tokens: Int[Array, "S T"]) -> Batch:
        """Each sentence as a window with nothing hidden and nothing supervised."""
        first = jnp.zeros((len(tokens), self.answer_length), jnp.int32)
        shown = jnp.broadcast_to(tokens[:, :1], first.shape)
        return self.pack(MaskedSentences(tokens, first, shown, jnp.zeros_like(first, bool)))

    def pack(self, examples: Corpus | MaskedSentences) -> Batch:
        """Each sentence as a window; padding is a document of its own, which no word attends to."""
        sentences = examples.sentences if isinstance(examples, Corpus) else examples
        tokens, places, shown, asked = sentences
        _, cls, pad = self.special_ids
        rows = jnp.arange(len(tokens))[:, None]
        labels = jnp.where(asked, tokens[rows, places], 0)
        end = self.window_length  # where unused slots write nothing
        seen = jnp.pad(tokens, ((0, 0), (1, 0)), constant_values=cls)
        seen = seen.at[rows, jnp.where(asked, places + 1, end)].set(shown, mode="drop")
        behind = seen == PAD
        one_length = len(self.world.make().lengths) == 1
        return Batch(
            tokens=jnp.where(behind, pad, seen),
            supervised=places + 1,
            labels=labels,
            mask=asked,
            groups=jnp.zeros_like(places),
            documents=None if one_length else behind.astype(jnp.int32),
        )

    def ask(self, tokens: Int[Array, "S T"], key: Key) -> MaskedSentences:
        """Choose the hidden words of each sentence; sentence ``i`` depends on the key and ``i``."""
        keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(len(tokens)))
        return MaskedSentences(tokens, *jax.vmap(self._hidden)(tokens, keys))

    def _hidden(self, words: Int[Array, "T"], key: Key) -> tuple[Array, Array, Array]:
        """Positions, tokens shown there, and a mask of supervised slots, ``[P]`` each."""
        place_key, kind_key, word_key = jax.random.split(key, 3)
        length = (words != PAD).sum()
        drawn = jax.random.uniform(place_key, words.shape)
        order = jnp.argsort(jnp.where(words == PAD, jnp.inf, drawn))
        places = order[: self.answer_length].astype(jnp.int32)
        mask, _, _ = self.special_ids
        if self.masking == "one":
            return places, jnp.full_like(places, mask), jnp.ones_like(places, bool)
        num = jnp.clip(jnp.round(MASKED_SHARE * length), 1, self.answer_length)
        kind = jax.random.uniform(kind_key, places.shape)
        other = jax.random.randint(word_key, places.shape, 0, mask)
        as_is = kind >= 1 - SHOWN_AS_IS
        shown = jnp.where(kind < SHOWN_MASKED, mask, jnp.where(as_is, words[places], other))
        return places, shown.astype(jnp.int32), jnp.arange(len(places)) < num
