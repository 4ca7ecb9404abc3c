"""What tasks on text have in common: a source and a tokenizer."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
from jax import Array
from jaxtyping import Int

from el_jax.process.errors import DataError, UserError, require
from el_jax.tokenizers import SEPARATOR, Tokenizer, end_token, load_tokenizer

T = TypeVar("T")
TRAINED = "trained"


@dataclass(frozen=True)
class TextSource(abc.ABC):
    """A text and its tokenizer, for the tasks that inherit them.

    Attributes:
        source: a source of texts, see el_jax/tasks/documents.py.
        tokenizer: a name or a path, see el_jax/tokenizers; or "trained" for byte pairs frequent in
            the source.
        trained_size: largest vocabulary of a trained tokenizer.
        num_classes: V of a model whose table has more rows than the vocabulary; 0 for the
            vocabulary's size.
    """

    source: str = "king_james"
    tokenizer: str = TRAINED
    trained_size: int = 2_048
    num_classes: int = 0

    def __post_init__(self) -> None:
        require("trained_size", self.trained_size, self.trained_size >= 257, "at least 257")

    @property
    def vocab_size(self) -> int:
        """The given number of classes, or if it is 0 one more than the largest token id.

        Raises:
            ValueError: the vocabulary has larger ids than the number allows.
        """
        given = self.num_classes
        least = max(self.text_tokenizer.get_vocab().values()) + 1  # some leave ids out
        enough = given == 0 or given >= least
        require("num_classes", given, enough, f"0 or at least {least}, the vocabulary")
        return given or least

    @property
    def text_tokenizer(self) -> Tokenizer:
        """The tokenizer.

        Raises:
            DataError: there is no such tokenizer, or its package is not installed.
        """
        return self.trained() if self.tokenizer == TRAINED else _loaded(self.tokenizer)[0]

    @abc.abstractmethod
    def trained(self) -> Tokenizer:
        """The tokenizer of the source's own byte pairs."""

    @property
    def separator(self) -> str:
        """The token between texts, such as ``<|endoftext|>``; empty if the tokenizer has none."""
        return SEPARATOR if self.tokenizer == TRAINED else _loaded(self.tokenizer)[1]

    def render(self, tokens: Int[Array | np.ndarray, "T"]) -> str:
        """The text of a window."""
        return self.text_tokenizer.decode(tokens.tolist(), skip_special_tokens=False)


def read(source: str, reader: Callable[[str], T]) -> T:
    """Read a source by one of the functions of el_jax/tasks/documents.py.

    Raises:
        DataError: there is no such source, or its package is not installed.
    """
    try:
        return reader(source)
    except (UserError, OSError, ValueError) as error:
        raise DataError(f"source={source!r}: {error}") from error


@lru_cache(maxsize=4)
def _loaded(name: str) -> tuple[Tokenizer, str]:
    """A tokenizer and its token between documents, empty if it has none."""
    try:
        tokenizer = load_tokenizer(name)
        return tokenizer, end_token(name, tokenizer) or ""
    except UserError as error:
        raise DataError(f"tokenizer={name!r}: {error}") from error
