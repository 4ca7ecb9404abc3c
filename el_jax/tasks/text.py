"""The copy task on natural text of Yang, Puli and Ranganath (2025), section 5.2 and Table 2.

An example is a sentence with its label, a word such as the title of its book, inserted::

    <|endoftext|> Genesis In the beginning God created Genesis the heaven and the earth. -> Genesis

The model predicts all tokens of the label at the end. In an *easy* sentence the label also stands
at the start and in the middle, in a *hard* one only in the middle.

The paper gives no further details. Our choices: sentences of 8 to 60 words none of which is
their own label; a middle position drawn from the middle third, so that no fixed position is a rule;
four of five sentences easy, as in the task of its section 3; a space before every word, so that a
label has the same tokens everywhere.

Two controls show how much the sentence itself reveals of its label: sentences without labels, and
sentences with permuted labels.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int

from el_jax.process.errors import require
from el_jax.tasks.documents import read_documents, sentences_of
from el_jax.tasks.packing import epoch_order
from el_jax.tasks.text_source import TextSource, read
from el_jax.tasks.text_windows import LabelledSentence, TextWindows, windows_of
from el_jax.tokenizers import SEPARATOR, Tokenizer, train_tokenizer
from el_jax.types import Batch, Key

LABELS = ("true", "absent", "permuted")
MIDDLES = ("third", "half")
_PUNCTUATION = ".,:;!?'\"()-"


class Sentences(NamedTuple):
    """Sentences of a source, in order, without duplicates.

    Attributes:
        words: words of each sentence.
        labels: label of each sentence, as an index into ``names``.
        names: the distinct labels.
    """

    words: list[list[str]]
    labels: Int[np.ndarray, "S"]
    names: list[str]


@dataclass(frozen=True)
class TextCopy(TextSource):
    """The copy task on natural text.

    Sentences are shuffled by ``data_seed``: the first ``num_train`` are for training, and test
    sentences are taken from the end. A trained tokenizer has read all of them, but no labels. The
    attributes of ``TextSource`` are attributes as well.

    Attributes:
        label: "true"; "absent", the sentence without any label in it; or "permuted", the labels of
            all sentences permuted, so that a sentence reveals nothing of its own.
        middle: the middle label stands after a word drawn from the middle "third", or after "half"
            of the words.
        easy_fraction: probability that a sentence is easy.
        min_words: least number of words in a sentence, not counting labels.
        max_words: largest number of words, likewise.
        max_tokens: limit for a window; sentences that would exceed it with the longest label are
            left out.
        num_train: training sentences, a multiple of ``sentences_per_update``.
        sentences_per_update: sentences one update reads.
        data_seed: seed of the split, the positions of labels, and the choice of easy sentences.
    """

    label: str = "true"
    middle: str = "third"
    easy_fraction: float = 0.8
    min_words: int = 8
    max_words: int = 60
    max_tokens: int = 128
    num_train: int = 9_984
    sentences_per_update: int = 32
    data_seed: int = 0
    group_names: ClassVar[tuple[str, ...]] = ("easy", "hard")
    labels_follow: ClassVar[bool] = True

    def __post_init__(self) -> None:
        update, train = self.sentences_per_update, self.num_train
        require("label", self.label, self.label in LABELS, f"one of {LABELS}")
        require("middle", self.middle, self.middle in MIDDLES, f"one of {MIDDLES}")
        require("easy_fraction", self.easy_fraction, 0 <= self.easy_fraction <= 1, "in [0, 1]")
        require("min_words", self.min_words, self.min_words >= 3, "at least 3")
        allowed = f"at least min_words={self.min_words}"
        require("max_words", self.max_words, self.max_words >= self.min_words, allowed)
        require("sentences_per_update", update, update >= 1, "at least 1")
        allowed = f"a positive multiple of sentences_per_update={update}"
        require("num_train", train, train >= 1 and train % update == 0, allowed)
        require("data_seed", self.data_seed, self.data_seed >= 0, "at least 0")
        super().__post_init__()

    @property
    def window_length(self) -> int:
        """Tokens of the longest sentence with the longest label in each position."""
        return _examples(self).tokens.shape[1]

    @property
    def answer_length(self) -> int:
        """Tokens of the longest label; an exact match has all correct."""
        return _examples(self).labels.shape[1]

    def train_set(self) -> Batch:
        """The training sentences as windows."""
        return _on_device(_examples(self), slice(self.num_train))

    def test_set(self, num: int) -> Batch:
        """The first ``num`` test sentences as windows.

        Raises:
            ValueError: there are fewer.
        """
        left = len(_examples(self).tokens) - self.num_train
        if num > left:
            raise ValueError(f"must be at most {left}, the sentences that training leaves")
        return _on_device(_examples(self), slice(-1, -1 - num, -1))

    def pack(self, examples: Batch) -> Batch:
        """The examples, which are windows already."""
        return examples

    def batch_at(self, train_set: Batch, step: int | Int[Array, ""], key: Key) -> Batch:
        """The windows of an update; the key reshuffles the sentences each epoch."""
        updates = self.num_train // self.sentences_per_update
        of_epoch = jax.random.fold_in(key, step // updates)
        order = epoch_order(of_epoch, self.num_train, self.sentences_per_update, static=False)
        return jax.tree.map(lambda leaf: leaf[order[step % updates]], train_set)

    def render(self, tokens: Int[Array | np.ndarray, "T"]) -> str:
        """The text of a window, without padding."""
        return super().render(tokens).removeprefix(self.separator).partition(self.separator)[0]

    @property
    def sentences(self) -> Sentences:
        """All sentences of the source that are neither too short nor too long.

        Raises:
            DataError: there is no such source, or its package is not installed.
        """
        return _sentences(self.source, self.min_words, self.max_words)

    def trained(self) -> Tokenizer:
        """See ``TextSource``."""
        return _trained(self.source, self.min_words, self.max_words, self.trained_size)


@lru_cache(maxsize=4)
def _sentences(source: str, min_words: int, max_words: int) -> Sentences:
    """The sentences of a source that are neither too short nor too long."""
    labels = dict[str, str]()
    for document in read(source, read_documents):
        for sentence in sentences_of(document.text):
            if min_words <= len(sentence.split()) <= max_words:
                labels.setdefault(sentence, document.label)  # duplicates could be in both splits
    names = sorted(set(labels.values()))
    numbers = np.array([names.index(label) for label in labels.values()], np.int32)
    return Sentences([sentence.split() for sentence in labels], numbers, names)


@lru_cache(maxsize=4)
def _trained(source: str, min_words: int, max_words: int, size: int) -> Tokenizer:
    sentences = _sentences(source, min_words, max_words)
    return train_tokenizer((f" {' '.join(words)}" for words in sentences.words), size)


@lru_cache(maxsize=4)
def _examples(task: TextCopy) -> TextWindows:
    """All windows of a task in the order of its shuffle.

    Raises:
        ValueError: the source has too few labels or sentences, or the tokenizer no separator.
    """
    sentences, rng = task.sentences, np.random.default_rng(task.data_seed)
    require("source", task.source, len(sentences.names) > 1, "texts of at least two labels")
    allowed = f"one with the token {SEPARATOR}, or with an eos_token in its files"
    require("tokenizer", task.tokenizer, bool(task.separator), allowed)
    order = rng.permutation(len(sentences.labels))
    drawn = rng.random((2, order.size))
    labels = sentences.labels[order]
    if task.label == "permuted":
        labels = rng.permutation(labels)
    chosen = [
        LabelledSentence(words, number, easy, _middle(len(words), place, task.middle))
        for words, number, easy, place in zip(
            (sentences.words[i] for i in order),
            labels.tolist(),
            (drawn[0] < task.easy_fraction).tolist(),
            drawn[1].tolist(),
            strict=True,
        )
        if not _has_word(words, sentences.names[number])
    ]
    names, tokenizer, shown = sentences.names, task.text_tokenizer, task.label != "absent"
    windows = windows_of(
        chosen, names, tokenizer, task.max_tokens, separator=task.separator, shown=shown
    )
    num, train = len(windows.tokens), task.num_train
    allowed = f"at most {num - 1}, of {num} sentences, so that one is left for a test"
    require("num_train", train, train < num, allowed)
    return windows


def _middle(num_words: int, place: float, middle: str) -> int:
    """Words before the middle label; ``place`` in [0, 1) chooses within the middle third."""
    if middle == "half":
        return num_words // 2
    first, last = -(-num_words // 3), 2 * num_words // 3
    return first + int(place * (last - first + 1))


def _has_word(words: list[str], word: str) -> bool:
    return word.lower() in (own.strip(_PUNCTUATION).lower() for own in words)


def _on_device(windows: TextWindows, rows: slice) -> Batch:
    return Batch(*(jnp.asarray(part[rows]) for part in windows))
