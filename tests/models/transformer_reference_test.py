"""Each family against a slow float64 forward pass written from its published definition.

The definitions are those of Hugging Face's modeling_{gpt_neox,gpt2,opt,bert,llama}.py, one window
at a time, logits at every token.
"""

import dataclasses

import jax
import numpy as np
import pytest
from scipy.special import erf
from tiny_models import TINY, batch_of, model, random_tokens


def affine(p, x):
    return x @ p["kernel"] + p.get("bias", 0)


def layer_norm(p, x, epsilon):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * p[
        "scale"
    ] + p["bias"]


def rms_norm(p, x, epsilon):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * p["scale"]


def gelu(x):
    return x * (1 + erf(x / np.sqrt(2))) / 2


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + np.exp(-x))


def rotate_half(x):
    half = x.shape[-1] // 2
    return np.concatenate((-x[..., half:], x[..., :half]), -1)


def rope(x, size, base):
    """Hugging Face's apply_rotary_pos_emb on the first ``size`` entries; x is [T, K]."""
    inv_freq = 1 / base ** (np.arange(0, size, 2) / size)
    freqs = np.outer(np.arange(len(x)), inv_freq)
    emb = np.concatenate((freqs, freqs), -1)
    turned, rest = x[:, :size], x[:, size:]
    return np.concatenate((turned * np.cos(emb) + rotate_half(turned) * np.sin(emb), rest), -1)


def attention(p, x, causal=True, turn=lambda x: x):
    out = 0
    num_heads, num_kv_heads = p["q"]["kernel"].shape[1], p["k"]["kernel"].shape[1]
    for h in range(num_heads):
        kv = h * num_kv_heads // num_heads

        def project(name, head):
            return x @ p[name]["kernel"][:, head] + (
                p[name]["bias"][head] if "bias" in p[name] else 0
            )

        q, k, v = project("q", h), project("k", kv), project("v", kv)
        if "q_norm" in p:
            q, k = rms_norm(p["q_norm"], q, 1e-5), rms_norm(p["k_norm"], k, 1e-5)
        q, k = turn(q), turn(k)
        scores = q @ k.T / np.sqrt(q.shape[-1])
        if causal:
            scores[np.triu_indices(len(x), 1)] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        out = out + weights / weights.sum(-1, keepdims=True) @ v @ p["o"]["kernel"][h]
    return out + p["o"].get("bias", 0)


def gpt_neox(p, layers, tokens):
    x = p["tok_emb"][tokens]
    for layer in layers:  # head size 8, rotary_pct 0.25
        a = attention(
            layer["attn"], layer_norm(layer["ln1"], x, 1e-5), turn=lambda x: rope(x, 2, 1e4)
        )
        m = gelu(affine(layer["mlp"]["in"], layer_norm(layer["ln2"], x, 1e-5)))
        x = x + a + affine(layer["mlp"]["out"], m)
    return layer_norm(p["final_ln"], x, 1e-5) @ p["head"]["kernel"]


def gpt2(p, layers, tokens):
    x = p["tok_emb"][tokens] + p["pos_emb"][: len(tokens)]
    for layer in layers:
        x = x + attention(layer["attn"], layer_norm(layer["ln1"], x, 1e-5))
        m = gelu_new(affine(layer["mlp"]["in"], layer_norm(layer["ln2"], x, 1e-5)))
        x = x + affine(layer["mlp"]["out"], m)
    return layer_norm(p["final_ln"], x, 1e-5) @ p["tok_emb"].T


def opt(p, layers, tokens):
    x = p["tok_emb"][tokens] + p["pos_emb"][2 : 2 + len(tokens)]
    for layer in layers:
        x = x + attention(layer["attn"], layer_norm(layer["ln1"], x, 1e-5))
        m = np.maximum(affine(layer["mlp"]["in"], layer_norm(layer["ln2"], x, 1e-5)), 0)
        x = x + affine(layer["mlp"]["out"], m)
    return layer_norm(p["final_ln"], x, 1e-5) @ p["tok_emb"].T


def opt_350m(p, layers, tokens):
    x = affine(p["project_in"], p["tok_emb"][tokens]) + p["pos_emb"][2 : 2 + len(tokens)]
    for layer in layers:
        x = layer_norm(layer["ln1"], x + attention(layer["attn"], x), 1e-5)
        m = affine(layer["mlp"]["out"], np.maximum(affine(layer["mlp"]["in"], x), 0))
        x = layer_norm(layer["ln2"], x + m, 1e-5)
    return affine(p["project_out"], x) @ p["tok_emb"].T


def bert(p, layers, tokens):
    x = p["tok_emb"][tokens] + p["pos_emb"][: len(tokens)] + p["type_emb"][0]
    x = layer_norm(p["emb_ln"], x, 1e-12)
    for layer in layers:
        x = layer_norm(layer["ln1"], x + attention(layer["attn"], x, causal=False), 1e-12)
        m = affine(layer["mlp"]["out"], gelu(affine(layer["mlp"]["in"], x)))
        x = layer_norm(layer["ln2"], x + m, 1e-12)
    x = layer_norm(p["head_ln"], gelu(affine(p["head_dense"], x)), 1e-12)
    return x @ p["tok_emb"].T + p["head"]["bias"]


def budget_bert(p, layers, tokens):
    x = p["tok_emb"][tokens] + p["pos_emb"][: len(tokens)] + p["type_emb"][0]
    x = layer_norm(p["emb_ln"], x, 1e-12)
    for layer in layers:
        x = x + attention(layer["attn"], layer_norm(layer["ln1"], x, 1e-12), causal=False)
        m = gelu(affine(layer["mlp"]["in"], layer_norm(layer["ln2"], x, 1e-12)))
        x = x + affine(layer["mlp"]["out"], m)
    x = layer_norm(p["final_ln"], x, 1e-12)
    x = layer_norm(p["head_ln"], gelu(affine(p["head_dense"], x)), 1e-12)
    return x @ p["tok_emb"].T + p["head"]["bias"]


def llama(p, layers, tokens):
    x = p["tok_emb"][tokens]
    for layer in layers:  # head size 4, all of it rotated
        x = x + attention(
            layer["attn"], rms_norm(layer["ln1"], x, 1e-5), turn=lambda x: rope(x, 4, 1e5)
        )
        h = rms_norm(layer["ln2"], x, 1e-5)
        m = silu(affine(layer["mlp"]["gate"], h)) * affine(layer["mlp"]["in"], h)
        x = x + affine(layer["mlp"]["out"], m)
    return rms_norm(p["final_ln"], x, 1e-5) @ p["tok_emb"].T


REFERENCES = {
    "gpt_neox": gpt_neox,
    "gpt2": gpt2,
    "opt": opt,
    "opt_350m": opt_350m,
    "bert": bert,
    "budget_bert": budget_bert,
    "llama": llama,
    "normed": llama,
}
NORMED = dataclasses.replace(TINY["llama"], qk_norm=True)  # as Qwen3


@pytest.mark.parametrize("name", [*TINY, "normed"])
def test_logits_are_those_of_the_published_definition(name):
    config = NORMED if name == "normed" else TINY[name]
    fns, params = model(config)
    tokens = random_tokens()
    logits = fns.apply(params, batch_of(tokens))
    exact = jax.tree.map(lambda x: np.asarray(x, np.float64), params)
    layers = [exact[f"layers_{i}"] for i in range(config.num_layers)]
    expected = np.stack([REFERENCES[name](exact, layers, window) for window in np.asarray(tokens)])
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
