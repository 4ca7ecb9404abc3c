"""The bidirectional LSTM compared with loops in NumPy float64, its documents, and its sizes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lstm_test import by_gates, random_params
from scipy.special import erf

from configs import by_name
from el_jax import build
from el_jax.models import BidirectionalLSTMConfig, bidirectional_lstm
from el_jax.process.errors import ConfigError
from el_jax.types import Batch

CONFIG = BidirectionalLSTMConfig(vocab_size=5, width=6, num_layers=2, max_length=9, dropout=0.0)
B, T, P = 3, 7, 2
PLACES = [[2, 6], [0, 3], [5, 5]]


def batch(tokens=None, documents=None, places=PLACES):
    if tokens is None:
        tokens = np.random.default_rng(0).integers(5, size=(B, T))
    nothing = np.zeros(np.shape(places), int)
    return Batch(
        *map(jnp.asarray, (tokens, places, nothing, nothing == 0, nothing)), None, documents
    )


MODEL = bidirectional_lstm(CONFIG)
PARAMS = random_params(MODEL)


def normed(x, params):
    x = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    return x * params["scale"] + params["bias"]


def stream_by_hand(params, tokens):
    """The stream of one window after its last norm, in NumPy."""
    x = params["tok_emb"][tokens] + params["pos_emb"][: len(tokens)] + params["type_emb"][0]
    x = normed(x, params["emb_ln"])
    for layer in (params["layers_0"], params["layers_1"]):
        y = normed(x, layer["ln1"])
        (forward,), (backward,) = layer["forward"].values(), layer["backward"].values()
        there, back = by_gates(forward, y), by_gates(backward, y[::-1])[::-1]
        x = normed(x + np.concatenate([there, back], axis=1), layer["ln2"])
    return normed(x, params["final_ln"])


def test_features_and_logits_are_those_of_the_formula():
    given = batch()
    params = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), PARAMS)
    stream = np.stack([stream_by_hand(params, row) for row in np.asarray(given.tokens)])
    features = MODEL.features(PARAMS, given)
    assert features.dtype == jnp.float32
    np.testing.assert_allclose(features, stream, rtol=1e-4, atol=1e-4)
    x = np.take_along_axis(stream, np.asarray(given.supervised)[..., None], 1)
    x = x @ params["head_dense"]["kernel"] + params["head_dense"]["bias"]
    x = normed(x * (1 + erf(x / np.sqrt(2))) / 2, params["head_ln"])
    logits = x @ params["tok_emb"].T + params["head"]["bias"]
    np.testing.assert_allclose(MODEL.apply(PARAMS, given), logits, rtol=1e-4, atol=1e-3)
    hidden, head, bias = map(np.asarray, MODEL.readout(PARAMS, given))
    assert hidden.shape == (B, P, MODEL.head_width) == (B, P, 6)
    np.testing.assert_allclose(hidden @ head + bias, logits, rtol=1e-4, atol=1e-3)


def test_padding_behind_a_document_changes_nothing():
    tokens, length = np.random.default_rng(2).integers(5, size=(B, T)), 4
    documents = jnp.asarray(np.tile(np.arange(T) >= length, (B, 1)).astype(np.int32))
    places = [[0, 3]] * B
    padded = MODEL.apply(PARAMS, batch(tokens, documents, places))
    other = tokens.copy()
    other[:, length:] = (other[:, length:] + 1) % 5
    np.testing.assert_array_equal(padded, MODEL.apply(PARAMS, batch(other, documents, places)))
    alone = MODEL.apply(PARAMS, batch(tokens[:, :length], None, places))
    np.testing.assert_allclose(padded, alone, rtol=1e-4, atol=1e-4)
    leaked = MODEL.apply(PARAMS, batch(tokens, None, places))
    assert np.abs(padded - leaked).max() > 1e-2


def test_every_token_is_seen_from_both_sides():
    given = batch(places=[[3]] * B)
    logits = MODEL.apply(PARAMS, given)
    for place in range(T):
        changed = given.tokens.at[:, place].set((given.tokens[:, place] + 1) % 5)
        assert (MODEL.apply(PARAMS, given._replace(tokens=changed)) != logits).any()


def test_dropout_acts_with_a_key_only():
    model, given = bidirectional_lstm(dataclasses.replace(CONFIG, dropout=0.5)), batch()
    plain = model.apply(PARAMS, given)
    np.testing.assert_array_equal(plain, MODEL.apply(PARAMS, given))
    assert not np.array_equal(plain, model.apply(PARAMS, given, jax.random.key(0)))


@pytest.mark.parametrize(
    ("width", "num_layers", "millions"), [(128, 4, 4.4), (256, 6, 10.4), (1024, 16, 133.7)]
)
def test_sizes_are_those_of_the_paper(width, num_layers, millions):
    config = BidirectionalLSTMConfig(vocab_size=30_528, width=width, num_layers=num_layers)
    params = jax.eval_shape(bidirectional_lstm(config).init, jax.random.key(0))
    count = sum(leaf.size for leaf in jax.tree.leaves(params))
    assert abs(count / 1e6 - millions) < 0.1  # PyTorch's LSTM has two copies of each bias


def test_a_task_whose_labels_follow_refuses_it():
    for task in ("copy", "causal"):
        with pytest.raises(ConfigError, match="sees later tokens reads the answers there"):
            build.parse(by_name.get_config(f"task={task},model=bidirectional_lstm"))
    config = by_name.get_config("task=masked,model=bidirectional_lstm")
    assert not build.parse(config).model_config.causal
