"""A grammar whose sentences have several lengths."""

import pathlib
from collections.abc import Callable

import pytest

from el_jax.worlds import WorldChoice, choose_world

GRAMMAR = """
S A B 1.0
A B B 0.4
A cat 0.6
B A A 0.3
B dog 0.7
"""


@pytest.fixture
def grammar_up_to(tmp_path: pathlib.Path) -> Callable[[int], WorldChoice]:
    """A function from the largest number of words to the world of its shorter sentences."""
    path = tmp_path / "grammar.txt"
    path.write_text(GRAMMAR, encoding="utf-8")
    return lambda length: choose_world("grammar_file", {"path": str(path), "length": length})
