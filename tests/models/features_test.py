"""Features are the hidden states from which the head makes the logits of every token."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf
from tiny_models import TINY, B, T, V, batch_of, random_params, random_tokens

from el_jax.models import LSTMConfig, lstm, transformer

BATCH = batch_of(random_tokens())
FEW = batch_of(random_tokens(), supervised=[[5, 0], [2, 2]])


def head_of(config, params, features):
    """Logits from features, in NumPy."""
    x, params = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), (features, params))
    if config.head_transform:
        x = x @ params["head_dense"]["kernel"] + params["head_dense"]["bias"]
        x = x * (1 + erf(x / np.sqrt(2))) / 2
        x = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
        x = x * params["head_ln"]["scale"] + params["head_ln"]["bias"]
    if config.embedding_dim != config.width:
        x = x @ params["project_out"]["kernel"]
    x = x @ (params["tok_emb"].T if config.tie_head else params["head"]["kernel"])
    return x + params["head"]["bias"] if config.head_bias else x


@pytest.mark.parametrize("name", TINY)
def test_the_head_makes_logits_of_features(name):
    config = TINY[name]
    fns, params = transformer(config), random_params(config)
    features = fns.features(params, FEW)
    assert features.shape == (B, T, config.width)
    assert features.dtype == jnp.float32
    logits = fns.apply(params, BATCH)
    np.testing.assert_allclose(head_of(config, params, features), logits, rtol=1e-4, atol=1e-4)


def test_the_head_makes_logits_of_an_lstms_features():
    fns = lstm(LSTMConfig(vocab_size=V, width=4, tie_head=True))
    params = fns.init(jax.random.key(0))
    features = fns.features(params, FEW)
    assert features.shape == (B, T, 4)
    found = np.asarray(features) @ params["tok_emb"].T
    np.testing.assert_allclose(found, fns.apply(params, BATCH), rtol=1e-5, atol=1e-5)
