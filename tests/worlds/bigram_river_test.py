"""Bigrams, half of them certain: their table, and the entropy that follows from it."""

import jax
import numpy as np

from el_jax.worlds import bigram_river, every_sentence


def test_half_of_the_words_have_a_certain_successor():
    table = bigram_river(vocab_size=8, seed=3).transition
    entropies = -(table * np.log(np.where(table > 0, table, 1))).sum(axis=1)
    np.testing.assert_allclose(entropies, np.repeat([0, np.log(4)], 4), atol=1e-12)
    np.testing.assert_allclose(table.sum(axis=0), 1)  # each word stays equally frequent
    others = bigram_river(vocab_size=8, seed=4).transition
    assert not np.array_equal(table, others)


def test_entropy_of_a_sentence_is_half_that_of_the_uncertain_successors():
    with jax.enable_x64(True):
        _, probability = map(np.asarray, every_sentence(bigram_river(vocab_size=4, length=5)))
    entropy = -(probability * np.log(np.where(probability > 0, probability, 1))).sum()
    np.testing.assert_allclose(entropy, np.log(4) + 4 * np.log(2) / 2, rtol=1e-12)


def test_next_words_follow_the_table():
    world = bigram_river(vocab_size=6, length=9)
    tokens = np.asarray(world.sample(jax.random.key(0), 4000).tokens)
    pairs = np.zeros((6, 6))
    np.add.at(pairs, (tokens[:, :-1].ravel(), tokens[:, 1:].ravel()), 1)
    assert not pairs[world.transition == 0].any()
    np.testing.assert_allclose(pairs / pairs.sum(1, keepdims=True), world.transition, atol=0.03)
