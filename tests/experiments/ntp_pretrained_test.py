"""Contexts of a passage, features and decoder of a network."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.linear_ntp import from_counts, max_margin
from el_jax.types import Batch
from experiments.harness.readers import drawn_reader
from experiments.ntp_pretrained import features, run

TEXT = np.array([3, 1, 3, 1, 2, 3, 1, 3])


@pytest.fixture(scope="module")
def reader():
    return drawn_reader()


def test_a_passage_counts_what_follows_each_context():
    passage = run.Passage(TEXT, 2)
    assert passage.contexts.tolist() == [[1, 2], [1, 3], [2, 3], [3, 1]]
    assert passage.next_tokens.tolist() == [3, 1, 2]  # as often, the smaller first
    assert passage.counts.tolist() == [[1, 0, 0, 2], [0, 1, 1, 0], [0, 0, 0, 1]]
    assert passage.limited(1).tolist() == [[1, 0, 0, 2], [0, 1, 1, 1]]


def test_features_and_decoder_are_the_factors_of_the_logits(reader):
    contexts = np.arange(3 * (features.CHUNK + 1)).reshape(-1, 3)
    hidden = features.features(reader, contexts)
    tokens = jnp.asarray(contexts)
    last = jnp.full((len(contexts), 1), 2)
    batch = Batch(tokens, last, 0 * last, last > 0, 0 * last)
    logits = reader.model.apply(reader.params, batch)[:, 0]
    some = np.array([5, 0, 9])
    found = features.decoder(reader, some) @ hidden
    np.testing.assert_allclose(found, np.asarray(logits)[:, some].T, atol=2e-5)


def test_embeddings_have_length_one_and_controls_lose_what_they_say(reader):
    passage = run.Passage(reader.tokens[:30], 2)
    found = {name: run.embed(reader, passage, name, 1) for name in run.EMBEDDINGS}
    for embeddings in found.values():
        assert np.square(embeddings).sum(axis=0).mean() == pytest.approx(1)
    mine, permuted = found[run.PRETRAINED], found[run.PERMUTED]
    assert not np.array_equal(mine, permuted)
    np.testing.assert_array_equal(*(np.sort(each[0]) for each in (mine, permuted)))
    assert not np.allclose(found[run.FRESH], mine, atol=1e-2)
    again = run.embed(reader, passage, run.FRESH, 1)
    np.testing.assert_array_equal(again, found[run.FRESH])


def test_principal_coordinates_are_round_and_in_order():
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.standard_normal((5, 5)))[0][:, :3]
    courses = np.linalg.qr(rng.standard_normal((8, 8)))[0][:3]
    found = run.principal((directions * [4.0, 2.0, 1.0]) @ courses)
    assert found.shape == (3, 8)  # the rank
    np.testing.assert_allclose(np.abs(found), math.sqrt(8) * np.abs(courses), atol=1e-12)


def test_margins_and_that_of_orthonormal_embeddings():
    counts = np.array([[2, 0, 0, 1], [0, 1, 0, 1], [0, 0, 3, 0]])
    problem = from_counts(np.eye(4), counts)
    assert run.orthonormal_margin(problem) == pytest.approx(max_margin(problem).margin, rel=1e-6)
    alike = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]])
    assert run.margin_of(from_counts(alike, counts)) == 0  # one context, two supports


def test_the_bound_of_a_decoder_is_above_the_margin(reader):
    passage = run.Passage(reader.tokens[:25], 2)
    (measured,) = run._of_decoder({}, reader, passage)
    assert measured.numbers[run.BOUND] >= 1
    assert 0 <= measured.numbers["own_separated_share"] < 0.5  # the network is untrained
    assert measured.numbers["tokens"] == len(passage.next_tokens)
