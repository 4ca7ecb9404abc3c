"""The class of a sentence is supervised after its last word, for any label of any world."""

import numpy as np
import pytest

from el_jax.process.compilation import Once
from el_jax.tasks import SentenceLabel
from el_jax.worlds import PAD, Sentences, choose_world

HIERARCHY = choose_world("random_hierarchy", {})
HMM = choose_world("hmm", {"vocab_size": 6, "num_states": 9, "length": 4, "num_blocks": 3})


def drawn(task, num):
    """Sentences with their classes, and the batch of them."""
    sentences = Once(lambda: task.test_set(num))()
    return sentences, Once(task.pack)(sentences)


def test_the_class_is_asked_for_behind_the_last_word():
    task = SentenceLabel(world=HIERARCHY)
    sentences, batch = drawn(task, 30)
    ask, _ = task.special_ids
    np.testing.assert_array_equal(batch.tokens[:, :-1], sentences.tokens)
    assert (batch.tokens[:, -1] == ask).all()
    assert (batch.supervised == 8).all()
    assert batch.mask.all()
    labels = HIERARCHY.make().labels(Sentences(sentences.tokens))["sentence"]
    np.testing.assert_array_equal(batch.labels[:, 0], labels)
    assert len(np.unique(labels)) == task.num_classes == 8


def test_where_words_leave_the_class_open_it_is_the_most_probable_one():
    task = SentenceLabel(world=HMM, label="state_2")
    sentences, batch = drawn(task, 40)
    posterior = HMM.make().log_posteriors(sentences.tokens)["state_2"]
    np.testing.assert_array_equal(batch.labels[:, 0], posterior.argmax(axis=1))
    assert task.vocab_size == 9 + 2  # there are more states than words


def test_sentences_of_several_lengths_and_without_class(grammar_up_to):
    world = grammar_up_to(5)
    task = SentenceLabel(world=world, label="prefix_4")
    sentences, batch = drawn(task, 200)
    ask, pad = task.special_ids
    lengths = (np.asarray(sentences.tokens) != PAD).sum(axis=1)
    assert set(lengths.tolist()) == {2, 3, 4, 5}
    np.testing.assert_array_equal(batch.supervised[:, 0], lengths)
    for row, length in zip(np.asarray(batch.tokens), lengths, strict=True):
        assert row[length] == ask
        assert (row[length + 1 :] == pad).all()
    np.testing.assert_array_equal(batch.documents, batch.tokens == pad)
    has_class = np.asarray(world.make().labels(Sentences(sentences.tokens))["prefix_4"]) >= 0
    np.testing.assert_array_equal(batch.mask[:, 0], has_class)
    assert 0 < has_class.sum() < 200


def test_an_unknown_label_is_named():
    with pytest.raises(ValueError, match=r"^label='topic': must be one of sentence, prefix_2"):
        _ = SentenceLabel(world=HIERARCHY, label="topic").vocab_size
