"""Masked words of a world: the hidden words, the supervised positions and their labels."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.tasks import MaskedWords
from el_jax.tasks.masked import MASKED_SHARE, MOST_MASKED
from el_jax.worlds import PAD, choose_world

KEY = jax.random.key(0)
PCFG = choose_world("pcfg", {"depth": 3, "symbols_per_level": 4, "vocab_size": 24})


@pytest.fixture
def grammar(grammar_up_to):
    return grammar_up_to(9)


def restored(task, batch):
    """The sentences of a batch with their hidden words put back."""
    _, _, pad = task.special_ids
    rows = np.arange(len(batch.tokens))[:, None]
    tokens = np.array(batch.tokens)
    end = np.zeros((len(tokens), 1), tokens.dtype)  # filling slots write here
    tokens = np.concatenate([tokens, end], axis=1)
    tokens[rows, np.where(batch.mask, batch.supervised, -1)] = batch.labels
    words = tokens[:, 1:-1]
    return np.where(words == pad, PAD, words)


def drawn(task, num):
    """The test set, drawn by one program."""
    return jax.jit(lambda: task.test_set(num))()


@pytest.mark.parametrize("masking", ["one", "bert"])
def test_hidden_words_are_the_labels_and_nothing_else_changes(masking, grammar):
    task = MaskedWords(world=grammar, masking=masking)
    sentences = drawn(task, 300)
    batch = task.pack(sentences)
    np.testing.assert_array_equal(restored(task, batch), sentences.tokens)
    mask, cls, _ = task.special_ids
    assert (batch.tokens[:, 0] == cls).all()
    assert (batch.supervised[batch.mask] >= 1).all()
    if masking == "one":
        hidden = jnp.take_along_axis(batch.tokens, batch.supervised, axis=1)
        assert (hidden == mask).all()
        assert (batch.tokens == mask).sum() == len(batch.tokens)


def test_one_hidden_word_is_uniform_over_the_words_of_its_sentence(grammar):
    task = MaskedWords(world=grammar)
    sentences = drawn(task, 6_000)
    length = (sentences.tokens != PAD).sum(1)
    share = (sentences.places[:, 0] + 0.5) / length
    assert abs(share.mean() - 0.5) < 5 * 0.29 / 6_000**0.5
    for words in np.unique(length)[:3]:
        places = np.asarray(sentences.places[length == words, 0])
        counts = np.bincount(places, minlength=words)
        assert len(counts) == words
        expected = len(places) / words
        assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_bert_hides_a_share_of_the_words_in_three_ways():
    task = MaskedWords(world=choose_world("hmm", {"length": 30}), masking="bert")
    sentences = drawn(task, 4_000)
    mask, _, _ = task.special_ids
    assert (sentences.asked.sum(1) == round(MASKED_SHARE * 30)).all()
    assert all(len(set(row)) == MOST_MASKED for row in np.asarray(sentences.places[:50]))
    shown = np.asarray(sentences.shown)[np.asarray(sentences.asked)]
    words = np.take_along_axis(*map(np.asarray, (sentences.tokens, sentences.places)), axis=1)
    words = words[np.asarray(sentences.asked)]
    error = 5 * 0.4 / len(shown) ** 0.5
    assert abs((shown == mask).mean() - 0.8) < error
    assert abs((shown == words).mean() - 0.1) < error  # a random word is hardly ever the same
    assert (shown <= mask).all()


def test_padding_is_a_document_of_its_own(grammar):
    task = MaskedWords(world=grammar)
    batch = task.pack(drawn(task, 50))
    pad = task.special_ids[2]
    np.testing.assert_array_equal(batch.documents, batch.tokens == pad)
    assert batch.documents.any()
    task = MaskedWords(world=PCFG)
    assert task.pack(drawn(task, 4)).documents is None


def test_every_update_has_sentences_and_masks_of_its_own():
    task = MaskedWords(world=PCFG, sentences_per_update=16)
    data = jax.jit(task.train_set)()
    batch_at = jax.jit(functools.partial(task.batch_at, data))
    first, again, later = (batch_at(step, KEY) for step in (3, 3, 4))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert (restored(task, first) != restored(task, later)).any(1).all()
    other = batch_at(3, jax.random.key(1))
    assert (restored(task, first) != restored(task, other)).any(1).all()


def test_a_fixed_set_is_read_once_an_epoch_and_masked_anew():
    task = MaskedWords(world=PCFG, num_train=48, sentences_per_update=16)
    data = jax.jit(task.train_set)()
    batch_at = jax.jit(functools.partial(task.batch_at, data))
    epochs = [[batch_at(3 * e + u, KEY) for u in range(3)] for e in range(2)]
    sets = [np.concatenate([restored(task, batch) for batch in epoch]) for epoch in epochs]
    ordered = [rows[np.lexsort(rows.T)] for rows in (*sets, np.asarray(data.sentences.tokens))]
    np.testing.assert_array_equal(ordered[0], ordered[1])
    np.testing.assert_array_equal(ordered[0], ordered[2])
    assert (sets[0] != sets[1]).any()
    places = [np.concatenate([b.supervised for b in epoch]) for epoch in epochs]
    assert (places[0] != places[1]).any()


def test_fresh_sentences_stand_beside_those_of_a_fixed_set():
    task = MaskedWords(world=PCFG, num_train=12, sentences_per_update=16, fresh_share=0.6)
    data = jax.jit(task.train_set)()
    known = set(map(tuple, np.asarray(data.sentences.tokens).tolist()))
    batch_at = jax.jit(functools.partial(task.batch_at, data))
    key = jax.random.key(5)  # that of no data set
    updates = [list(map(tuple, restored(task, batch_at(u, key)).tolist())) for u in range(4)]
    assert all(len(rows) == 16 for rows in updates)
    repeated = [row for rows in updates[:2] for row in rows if row in known]
    assert sorted(repeated) == sorted(known)  # six an update, so once an epoch of two
    fresh = [row for rows in updates for row in rows if row not in known]
    assert len(fresh) == len(set(fresh)) == 40


def test_a_larger_test_set_begins_with_the_smaller_one():
    task = MaskedWords(world=PCFG, masking="bert")
    small, large = drawn(task, 5), drawn(task, 9)
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b[:5]), small, large)


def test_test_sentences_are_no_training_sentences():
    task = MaskedWords(world=PCFG, num_train=64, sentences_per_update=16)
    train = jax.jit(task.train_set)().sentences.tokens
    test = drawn(task, 64).tokens
    assert (train != test).any(1).all()


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("masking", "two", "'one' or 'bert'"),
        ("num_train", 10, "0 or a multiple of 256"),
        ("fresh_share", 0.5, "0, or with num_train > 0 a share"),  # none is repeated
    ],
)
def test_a_bad_field_is_named(field, value, allowed):
    with pytest.raises(ValueError, match=f"^{field}={value!r}: must be {allowed}"):
        dataclasses.replace(MaskedWords(), **{field: value})


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"num_train": 10, "fresh_share": 0.5}, "num_train=10: must be 0 or a multiple of 8,"),
        ({"num_train": 16, "fresh_share": 0.99}, "fresh_share=0.99: must be .* leaves room"),
        ({"num_train": 16, "fresh_share": 0.01}, "fresh_share=0.01: must be .* and a new one"),
        ({"num_train": 16, "fresh_share": -0.5}, "fresh_share=-0.5: must be 0, or with"),
    ],
)
def test_a_bad_mixture_is_named(numbers, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        MaskedWords(sentences_per_update=16, **numbers)
