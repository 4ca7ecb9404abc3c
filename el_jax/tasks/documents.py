"""Texts, each labelled with a word, and their sentences.

A source is a name in ``PACKAGED``; a folder of .txt files, each named after its label; or ``tfds:``
and the name of a tensorflow-datasets data set prepared as array_record, with one text and one class
label per record, such as ``tfds:imdb_reviews``, which grain reads. TensorFlow is not needed.
"""

import pathlib
import re
from collections.abc import Callable
from itertools import groupby
from typing import Any, NamedTuple

from el_jax.tasks import king_james, shakespeare

TFDS = "tfds:"
# after a full stop, question or exclamation mark and closing quote, before a capital letter
_SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?]['\")]))\s+(?=\W*[A-Z])")


class Document(NamedTuple):
    """A text and its label, a word."""

    label: str
    text: str


def king_james_books() -> list[Document]:
    """The 66 books of the King James Bible; parts of a book, such as 1 and 2 Samuel, share a label.

    Raises:
        MissingPackageError: the package is not installed.
    """
    books = groupby(king_james.verses(), key=lambda verse: verse[0])
    texts = {name: " ".join(text for _, text in verses) for name, verses in books}
    words = {name: re.sub(r"^\d ", "", name) for name in texts} | {"Song of Solomon": "Songs"}
    return [Document(words[name], text) for name, text in texts.items()]


def shakespeare_works() -> list[Document]:
    """The plays and poems of Shakespeare.

    Raises:
        MissingPackageError: the package is not installed.
    """
    return [Document(*work) for work in shakespeare.works()]


PACKAGED: dict[str, Callable[[], list[Document]]] = {
    "king_james": king_james_books,
    "shakespeare": shakespeare_works,
}


def read_documents(source: str) -> list[Document]:
    """The texts of a source.

    Raises:
        MissingPackageError: the package of the source is not installed.
        ValueError: there is no such source, or it is not a set of labelled texts; one line.
    """
    if source in PACKAGED:
        return PACKAGED[source]()
    if source.startswith(TFDS):
        return _of_tfds(source.removeprefix(TFDS))
    folder = pathlib.Path(source)
    if not folder.is_dir():
        raise ValueError(f"must be one of {', '.join(PACKAGED)}, tfds:NAME or a folder of .txt")
    files = sorted(folder.glob("*.txt"))
    if not files:
        raise ValueError("has no .txt files")
    try:
        return [Document(file.stem, _text_of(file)) for file in files]
    except UnicodeDecodeError as error:
        raise ValueError(f"its files must be UTF-8 ({error})") from error


def read_texts(source: str) -> list[str]:
    """Read a .txt file, or all texts of a source.

    Raises:
        MissingPackageError: the package of the source is not installed.
        ValueError: there is no such file or source, or it is not text; one line.
    """
    file = pathlib.Path(source)
    if file.suffix != ".txt" or file.is_dir():
        return [document.text for document in read_documents(source)]
    try:
        return [_text_of(file)]
    except OSError as error:
        raise ValueError(f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"must be UTF-8 ({error})") from error


def read_text(source: str) -> str:
    """The texts of :func:`read_texts`, one after the other."""
    return "\n".join(read_texts(source))


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences by punctuation; an empty line also ends one."""
    paragraphs = re.split(r"\n\s*\n", text)
    return [s for p in paragraphs for s in _SENTENCE_END.split(" ".join(p.split())) if s]


def _text_of(file: pathlib.Path) -> str:
    """The text of a UTF-8 file, without the mark that Windows puts before it."""
    return file.read_text(encoding="utf-8-sig")


def _of_tfds(name: str) -> list[Document]:
    """The records of the split "train", in order, read by grain in threads."""
    import grain  # takes a second to import, like tfds, and only this source needs them
    import tensorflow_datasets as tfds

    try:
        builder = tfds.builder(name)
        records = grain.MapDataset.source(builder.as_data_source("train"))
    except Exception as error:  # many types, mostly with several lines
        raise ValueError(f"{_first_line(error)} (must be prepared as array_record)") from error
    text, label = (_feature(builder, kind) for kind in ("Text", "ClassLabel"))
    names = builder.info.features[label].names

    def document(record: dict[str, Any]) -> Document:
        return Document(names[record[label]], record[text].decode("utf-8"))

    return list(records.map(document).to_iter_dataset())


def _feature(builder: Any, kind: str) -> str:
    """The name of a data set's only feature of a given kind."""
    features = builder.info.features
    found = [name for name in features if type(features[name]).__name__ == kind]
    if len(found) != 1:
        raise ValueError(f"must have one feature of type {kind}, not {found}")
    return found[0]


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
