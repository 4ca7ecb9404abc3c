"""The words of the King James Bible, as they stand there."""

import numpy as np
import pytest

from el_jax.tasks.king_james import encode_words, king_james_words


def test_the_beginning_and_the_end():
    words = king_james_words(())
    assert " ".join(words[:10]) == "in the beginning god created the heaven and the earth"
    assert " ".join(words[-5:]) == "be with you all amen"
    assert 780_000 < len(words) < 800_000


def test_books_are_read_in_the_order_asked_for():
    ruth, john = king_james_words(("Ruth",)), king_james_words(("2 John",))
    assert king_james_words(("2 John", "Ruth")) == john + ruth
    assert " ".join(ruth[:6]) == "now it came to pass in"


def test_a_book_that_is_none_is_named():
    with pytest.raises(ValueError, match=r"books='Genesys': must be among Genesis, Exodus, "):
        king_james_words(("Genesys",))


def test_frequent_words_have_small_numbers_and_come_back():
    words = ["b", "a", "c", "a", "b", "a", "d"]
    tokens, vocabulary = encode_words(words)
    assert vocabulary == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(tokens, [1, 0, 2, 0, 1, 0, 3])
    tokens, vocabulary = encode_words(king_james_words(("Ruth",)))
    assert [vocabulary[token] for token in tokens] == king_james_words(("Ruth",))
    counts = np.bincount(tokens)
    assert (np.diff(counts) <= 0).all()
