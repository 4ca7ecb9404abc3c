"""Next words of a world: each is supervised, after a begin token, with an end token if needed."""

import numpy as np
import pytest

from el_jax.process.compilation import Once
from el_jax.tasks import CausalWords, MaskedWords
from el_jax.worlds import PAD, choose_world

PCFG = choose_world("pcfg", {"depth": 3, "symbols_per_level": 4, "vocab_size": 24})


def drawn(task, num):
    """Sentences, and the batch of them."""
    sentences = Once(lambda: task.test_set(num))()
    return sentences, Once(task.pack)(sentences)


def test_every_word_is_asked_for_at_the_token_before_it():
    task = CausalWords(world=PCFG)
    sentences, batch = drawn(task, 20)
    assert batch.tokens.shape == (20, task.window_length) == (20, 1 + 8)
    assert (batch.tokens[:, 0] == task.special_ids[0]).all()
    np.testing.assert_array_equal(batch.tokens[:, 1:], sentences.tokens)
    np.testing.assert_array_equal(batch.labels, sentences.tokens)
    np.testing.assert_array_equal(batch.supervised, np.tile(np.arange(8), (20, 1)))
    assert batch.mask.all()
    assert batch.documents is None


def test_the_end_is_asked_for_where_sentences_have_several_lengths(grammar_up_to):
    task = CausalWords(world=grammar_up_to(5))
    sentences, batch = drawn(task, 200)
    _, end = task.special_ids
    assert task.window_length == 1 + 5 + 1
    lengths = (np.asarray(sentences.tokens) != PAD).sum(1)
    assert set(lengths.tolist()) == {2, 3, 4, 5}
    np.testing.assert_array_equal(batch.mask.sum(1), lengths + 1)
    for row, words, length in zip(np.asarray(batch.labels), sentences.tokens, lengths, strict=True):
        assert row[: length + 1].tolist() == [*words[:length].tolist(), end]
        assert (row[length:] == end).all()


def test_masked_and_next_words_are_asked_of_the_same_sentences():
    of_next, of_masked = (drawn(kind(world=PCFG), 9)[0] for kind in (CausalWords, MaskedWords))
    np.testing.assert_array_equal(of_next.tokens, of_masked.tokens)
    with pytest.raises(ValueError, match=r"^num_train=10: must be 0 or a multiple of"):
        CausalWords(num_train=10)
