"""Next words of a world: each is supervised, after a begin token, with an end token if needed."""

import functools

import jax
import numpy as np
import pytest

from el_jax.process.compilation import Once
from el_jax.tasks import CausalWords, MaskedWords
from el_jax.worlds import PAD, choose_world

KEY = jax.random.key(0)
PCFG = choose_world("pcfg", {"depth": 3, "symbols_per_level": 4, "vocab_size": 24})
GRAMMAR = """
S A B 1.0
A B B 0.4
A cat 0.6
B A A 0.3
B dog 0.7
"""


@pytest.fixture(name="grammar")
def grammar_of_several_lengths(tmp_path):
    path = tmp_path / "grammar.txt"
    path.write_text(GRAMMAR, encoding="utf-8")
    return choose_world("grammar_file", {"path": str(path), "length": 5})


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


def test_the_end_is_asked_for_where_sentences_have_several_lengths(grammar):
    task = CausalWords(world=grammar)
    sentences, batch = drawn(task, 200)
    _, end = task.special_ids
    assert task.window_length == 1 + 5 + 1
    lengths = (np.asarray(sentences.tokens) != PAD).sum(1)
    assert set(lengths.tolist()) == {2, 3, 4, 5}
    np.testing.assert_array_equal(batch.mask.sum(1), lengths + 1)
    for row, words, length in zip(np.asarray(batch.labels), sentences.tokens, lengths, strict=True):
        assert row[: length + 1].tolist() == [*words[:length].tolist(), end]
        assert (row[length:] == end).all()


def test_every_update_has_sentences_of_its_own():
    task = CausalWords(world=PCFG, sentences_per_update=16)
    batch_at = jax.jit(functools.partial(task.batch_at, Once(task.train_set)()))
    first, again, later = (batch_at(step, KEY) for step in (3, 3, 4))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert (first.labels != later.labels).any(1).all()


def test_a_fixed_set_is_read_once_an_epoch():
    task = CausalWords(world=PCFG, num_train=48, sentences_per_update=16)
    data = Once(task.train_set)()
    batch_at = Once(task.batch_at)
    read = np.concatenate([batch_at(data, update, KEY).labels for update in range(3)])
    given = np.asarray(data.sentences.tokens)
    ordered = [rows[np.lexsort(rows.T)] for rows in (read, given)]
    np.testing.assert_array_equal(*ordered)
    assert (read != given).any()


def test_masked_and_next_words_are_asked_of_the_same_sentences():
    of_next, of_masked = (drawn(kind(world=PCFG), 9)[0] for kind in (CausalWords, MaskedWords))
    np.testing.assert_array_equal(of_next.tokens, of_masked.tokens)
    with pytest.raises(ValueError, match=r"^num_train=10: must be 0 or a multiple of"):
        CausalWords(num_train=10)
