"""budget_bert, which transformers does not have, compared with a slow forward pass in float64.

The other presets are compared with transformers' logits in pretrained_test.py.
"""

import jax
import numpy as np
from scipy.special import erf
from tiny_models import TINY, batch_of, model, random_tokens


def affine(p, x):
    return x @ p["kernel"] + p["bias"]


def layer_norm(p, x):
    spread = np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    return (x - x.mean(-1, keepdims=True)) / spread * p["scale"] + p["bias"]


def gelu(x):
    return x * (1 + erf(x / np.sqrt(2))) / 2


def attention(p, x):
    out = p["o"]["bias"]
    for head in range(p["q"]["kernel"].shape[1]):
        q, k, v = (x @ p[n]["kernel"][:, head] + p[n]["bias"][head] for n in ("q", "k", "v"))
        scores = q @ k.T / np.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        out = out + weights / weights.sum(-1, keepdims=True) @ v @ p["o"]["kernel"][head]
    return out


def budget_bert(p, layers, tokens):
    x = p["tok_emb"][tokens] + p["pos_emb"][: len(tokens)] + p["type_emb"][0]
    x = layer_norm(p["emb_ln"], x)
    for layer in layers:
        x = x + attention(layer["attn"], layer_norm(layer["ln1"], x))
        x = x + affine(
            layer["mlp"]["out"], gelu(affine(layer["mlp"]["in"], layer_norm(layer["ln2"], x)))
        )
    x = layer_norm(p["head_ln"], gelu(affine(p["head_dense"], layer_norm(p["final_ln"], x))))
    return x @ p["tok_emb"].T + p["head"]["bias"]


def test_logits_are_those_of_its_definition():
    config = TINY["budget_bert"]
    fns, params = model(config)
    tokens = random_tokens()
    exact = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    layers = [exact[f"layers_{i}"] for i in range(config.num_layers)]
    expected = np.stack([budget_bert(exact, layers, window) for window in np.asarray(tokens)])
    atol = 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(fns.apply(params, batch_of(tokens)), expected, rtol=1e-5, atol=atol)
