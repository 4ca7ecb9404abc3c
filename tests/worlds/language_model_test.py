"""The world of a network: its law is the network's, restricted to the most frequent tokens."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.models import PRESETS, LSTMConfig, lstm, transformer
from el_jax.process.compilation import Once
from el_jax.types import Batch
from el_jax.worlds import every_sentence, restricted_model

TOKENS, BEGIN, LENGTH = 7, 5, 3
COUNTS = np.array([4, 9, 0, 4, 7, 99, 1])
WORDS = [1, 4, 0]  # tokens 0 and 3 are equally frequent: the lower one is taken
SMALL = {"vocab_size": TOKENS, "width": 8, "num_layers": 2}
MODELS = {
    "gpt2": transformer(dataclasses.replace(PRESETS["gpt2"], num_heads=2, max_length=8, **SMALL)),
    "lstm": lstm(LSTMConfig(**SMALL)),
}
pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture(name="teacher", scope="module", params=MODELS)
def a_network_with_parameters(request):
    model = MODELS[request.param]
    rng = np.random.default_rng(0)
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    return model, jax.tree.map(lambda leaf: rng.normal(size=leaf.shape) / 2, shapes)


def world_of(teacher, **changes):
    model, params = teacher
    numbers = {"num_words": 3, "begin": BEGIN, "length": LENGTH} | changes
    return restricted_model(model.apply, params, COUNTS, **numbers)


def next_law(apply, params, earlier):
    """The law of the word after ``earlier``, from the network's logits there alone."""
    tokens = jnp.array([[BEGIN, *(WORDS[word] for word in earlier)]])
    place = jnp.array([[len(earlier)]])
    batch = Batch(tokens, place, labels=place, mask=place >= 0, groups=place * 0)
    weights = np.exp(np.asarray(apply(params, batch))[0, 0, WORDS])
    return weights / weights.sum()


def test_probabilities_are_the_products_of_the_networks_restricted_laws(teacher):
    world, (model, params) = world_of(teacher), teacher
    apply = Once(model.apply)
    np.testing.assert_array_equal(world.words, WORDS)
    laws = {
        earlier: next_law(apply, params, earlier)
        for length in range(LENGTH)
        for earlier in itertools.product(range(3), repeat=length)
    }
    tokens, probability = map(np.asarray, Once(every_sentence)(world))
    expected = [
        np.prod([laws[tuple(row[:t])][row[t]] for t in range(LENGTH)]) for row in tokens.tolist()
    ]
    np.testing.assert_allclose(probability, expected, rtol=1e-10)
    np.testing.assert_allclose(probability.sum(), 1, rtol=1e-12)
    joint = probability.reshape(3, 3, 3)
    conditionals = np.exp(Once(lambda world: world.log_conditionals(tokens))(world))
    for t in range(LENGTH):
        truth = np.moveaxis(joint / joint.sum(axis=t, keepdims=True), t, -1)
        others = np.delete(tokens, t, axis=1)
        np.testing.assert_allclose(conditionals[:, t], truth[tuple(others.T)], rtol=1e-10)


def test_candidates_in_uneven_chunks_give_the_same(monkeypatch):
    world = world_of((MODELS["lstm"], Once(MODELS["lstm"].init)(jax.random.key(0))))
    tokens = jax.random.randint(jax.random.key(1), (2, LENGTH), 0, 3)
    whole = Once(lambda world: world.log_conditionals(tokens))(world)
    monkeypatch.setattr("el_jax.worlds.language_model.AT_ONCE", 4)  # of 18 candidates
    in_chunks = Once(lambda world: world.log_conditionals(tokens))(world)
    np.testing.assert_allclose(in_chunks, whole, atol=1e-12)
