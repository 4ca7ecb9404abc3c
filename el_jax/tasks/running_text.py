"""Next-token prediction on the user's text: every token of a window is supervised.

The texts of a source are tokenised and concatenated, each followed by the tokenizer's end-of-text
token if it has one. An update reads windows that begin anywhere in the first part of the tokens;
the rest is cut into consecutive test windows, so no token is in both training and test set.
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
from el_jax.tasks.documents import read_texts
from el_jax.tasks.text_source import TextSource, read
from el_jax.tokenizers import Tokenizer, token_ids, train_tokenizer
from el_jax.types import Batch, Key

TRAIN_SPLIT = 256  # evenly spaced windows on which training metrics are measured


class TextTokens(NamedTuple):
    """The tokens of a training text, ``[n]``."""

    ids: Int[Array, " n"]


@dataclass(frozen=True)
class RunningText(TextSource):
    """Next-token prediction on running text, whose source may also be a .txt file.

    The attributes of ``TextSource`` are attributes as well.

    Attributes:
        window: T, tokens per window.
        windows_per_update: windows one update reads.
        test_share: share of the tokens, at the end, reserved for the test.
    """

    window: int = 128
    windows_per_update: int = 16
    test_share: float = 0.1
    answer_length: ClassVar[int] = 1
    group_names: ClassVar[tuple[str, ...]] = ("next",)
    labels_follow: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require("window", self.window, self.window >= 1, "at least 1")
        update = self.windows_per_update
        require("windows_per_update", update, update >= 1, "at least 1")
        require("test_share", self.test_share, 0 < self.test_share < 1, "in (0, 1)")
        super().__post_init__()

    @property
    def window_length(self) -> int:
        """T."""
        return self.window

    def train_set(self) -> TextTokens:
        """The tokens of the first part."""
        return TextTokens(jnp.asarray(self._parts()[0]))

    def test_set(self, num: int) -> Batch:
        """The first ``num`` windows of the second part.

        Raises:
            ValueError: there are fewer.
        """
        tokens = self._parts()[1]
        most = (len(tokens) - 1) // self.window
        if num > most:
            raise ValueError(f"must be at most {most}, the test windows of {self.window} tokens")
        return self._windows(jnp.asarray(tokens), self.window * jnp.arange(num))

    def pack(self, examples: TextTokens | Batch) -> Batch:
        """Windows unchanged; for a training text, 256 evenly spaced windows."""
        if isinstance(examples, Batch):
            return examples
        last = len(examples.ids) - 1 - self.window
        starts = np.linspace(0, last, min(TRAIN_SPLIT, last + 1)).astype(np.int32)
        return self._windows(examples.ids, jnp.asarray(starts))

    def batch_at(self, train_set: TextTokens, step: int | Int[Array, ""], key: Key) -> Batch:
        """The windows of an update; the key draws where they begin."""
        ids, shape = train_set.ids, (self.windows_per_update,)
        starts = jax.random.randint(jax.random.fold_in(key, step), shape, 0, len(ids) - self.window)
        return self._windows(ids, starts)

    def trained(self) -> Tokenizer:
        """See ``TextSource``."""
        return _trained(self.source, self.trained_size)

    def _parts(self) -> tuple[np.ndarray, np.ndarray]:
        ids = _tokens(self.source, self.tokenizer, self.trained_size)
        first = round(len(ids) * (1 - self.test_share))
        shortest = min(first, len(ids) - first) - 1
        allowed = f"longer than {len(ids)} tokens, so that both parts have a window"
        require("source", self.source, shortest >= 1, allowed)
        allowed = f"at most {shortest}, the tokens of the shorter part of {self.source}"
        require("window", self.window, self.window <= shortest, allowed)
        return ids[:first], ids[first:]

    def _windows(self, ids: Array, starts: Int[Array, " B"]) -> Batch:
        read = ids[starts[:, None] + jnp.arange(self.window + 1)[None]]
        asked = jnp.broadcast_to(jnp.arange(self.window)[None], read[:, 1:].shape)
        none = jnp.zeros_like(asked)
        return Batch(read[:, :-1], asked, read[:, 1:], asked >= 0, none)


@lru_cache(maxsize=4)
def _trained(source: str, size: int) -> Tokenizer:
    return train_tokenizer(read(source, read_texts), size)


@lru_cache(maxsize=4)
def _tokens(source: str, tokenizer: str, size: int) -> Int[np.ndarray, " n"]:
    """The tokens of a source, which tasks of other windows share."""
    text = RunningText(source, tokenizer, size)
    encoder, end, texts = text.text_tokenizer, text.separator, read(source, read_texts)
    ends = [encoder.token_to_id(end)] if end else []
    found = token_ids(encoder, texts)
    return np.concatenate([np.asarray([*ids, *ends], np.int32) for ids in found])
