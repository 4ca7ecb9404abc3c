"""The LSTM compared with a loop in NumPy float64, and its state at the start of documents."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.models import LSTMConfig, lstm
from el_jax.types import Batch

CONFIG = LSTMConfig(vocab_size=5, width=4, num_layers=2)
B, T, P = 3, 7, 2


def batch(documents=None):
    rng = np.random.default_rng(0)
    tokens, places = rng.integers(5, size=(B, T)), np.tile([2, 6], (B, 1))
    nothing = np.zeros((B, P), int)
    return Batch(
        *map(jnp.asarray, (tokens, places, nothing, nothing == 0, nothing)), None, documents
    )


def random_params(model):
    rng = np.random.default_rng(1)
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    return jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), jnp.float32), shapes)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_gates(cell, inputs):
    """Hidden states of one LSTM, a gate at a time (Hochreiter & Schmidhuber 1997)."""
    h = c = np.zeros_like(cell["hi"]["bias"])
    states = []
    for x in inputs:
        i, f, g, o = (
            x @ cell[f"i{gate}"]["kernel"]
            + h @ cell[f"h{gate}"]["kernel"]
            + cell[f"h{gate}"]["bias"]
            for gate in "ifgo"
        )
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def by_hand(params, tokens):
    """Hidden states of one window, layer by layer."""
    params = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    hidden = params["tok_emb"][tokens]
    for layer in ("layers_0", "layers_1"):
        (cell,) = params[layer].values()
        hidden = by_gates(cell, hidden)
    return hidden


@pytest.mark.parametrize("tied", [False, True])
def test_logits_are_those_of_the_formula(tied):
    model = lstm(dataclasses.replace(CONFIG, tie_head=tied))
    params, given = random_params(model), batch()
    head = params["tok_emb"].T if tied else params["head"]
    states = np.stack([by_hand(params, row) for row in np.asarray(given.tokens)])
    expected = np.take_along_axis(states, np.asarray(given.supervised)[..., None], 1) @ head
    np.testing.assert_allclose(model.apply(params, given), expected, rtol=1e-5, atol=1e-5)


def test_a_document_is_read_as_if_it_were_alone():
    model = lstm(CONFIG)
    params, start = random_params(model), 4
    documents = jnp.asarray(np.tile(np.arange(T) >= start, (B, 1)).astype(np.int32))
    together = model.apply(params, batch(documents))
    alone = batch()
    alone = alone._replace(tokens=alone.tokens[:, start:], supervised=alone.supervised * 0 + 2)
    np.testing.assert_allclose(together[:, 1], model.apply(params, alone)[:, 1], rtol=1e-6)
    assert np.abs(together[:, 1] - model.apply(params, batch())[:, 1]).max() > 1e-3


def test_dropout_acts_with_a_key_only():
    model = lstm(dataclasses.replace(CONFIG, dropout=0.5))
    params, given = random_params(model), batch()
    plain, dropped = model.apply(params, given), model.apply(params, given, jax.random.key(0))
    np.testing.assert_array_equal(plain, lstm(CONFIG).apply(params, given))
    assert not np.array_equal(plain, dropped)
