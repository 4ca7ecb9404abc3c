import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_models import TINY, B, T, batch_of, model, random_tokens

import el_jax.models.attention as attention_room
from el_jax.models import transformer
from el_jax.models.attention import attend, flash_attend, softmax

SUPERVISED = jnp.array([[6, 0, 3], [2, 2, 5]])
DOCUMENTS = jnp.array([[0, 0, 0, 1, 1, 1, 1, 1], [2, 2, 5, 5, 5, 2, 2, 2]])


@pytest.mark.parametrize(
    ("name", "documents"), [("gpt_neox", None), ("bert", None), *((n, DOCUMENTS) for n in TINY)]
)
def test_attention_weights_sum_to_one_and_respect_masks(name, documents):
    config = TINY[name]
    fns, params = model(config)
    weights = np.asarray(fns.attention(params, batch_of(random_tokens(), documents=documents)))
    assert weights.shape == (config.num_layers, B, config.num_heads, T, T)
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)
    allowed = np.tril(np.ones((B, T, T), bool)) if config.causal else np.ones((B, T, T), bool)
    if documents is not None:
        allowed &= np.asarray(documents[:, :, None] == documents[:, None, :])
    allowed = np.broadcast_to(allowed[None, :, None], weights.shape)
    assert (weights[allowed] > 0).all()
    assert (weights[~allowed] == 0).all()


@pytest.mark.parametrize("name", ["gpt_neox", "bert"])
def test_attention_of_some_queries_equals_theirs_among_all(name):
    fns, params = model(TINY[name])
    everywhere = fns.attention(params, batch_of(random_tokens()))
    some = fns.attention(params, batch_of(random_tokens(), SUPERVISED))
    expected = jnp.take_along_axis(everywhere, SUPERVISED[None, :, None, :, None], axis=3)
    np.testing.assert_allclose(some, expected, rtol=1e-5, atol=1e-7)


def test_grouped_query_heads_equal_full_heads_with_repeated_keys_and_values():
    config = TINY["llama"]
    fns, params = model(config)
    full, _ = model(dataclasses.replace(config, num_kv_heads=None))
    repeated = jax.tree_util.tree_map_with_path(
        lambda path, x: (
            jnp.repeat(x, 2, axis=1)
            if jax.tree_util.keystr(path, simple=True).endswith(("attnkkernel", "attnvkernel"))
            else x
        ),
        params,
    )
    batch = batch_of(random_tokens())
    assert repeated["layers_0"]["attn"]["k"]["kernel"].shape == (16, 4, 4)
    np.testing.assert_allclose(
        fns.apply(params, batch), full.apply(repeated, batch), rtol=1e-5, atol=1e-5
    )


def test_softmax_and_its_derivatives_are_those_of_jax():
    scores = 2 * jax.random.normal(jax.random.key(0), (3, 4))
    large = 1000 + scores
    np.testing.assert_allclose(softmax(large), jax.nn.softmax(large), rtol=1e-6)
    for derivative in (
        jax.jacrev,
        lambda f: jax.jacfwd(jax.jacrev(f)),
        lambda f: jax.jacrev(jax.jacfwd(jax.jacfwd(f))),
    ):
        ours, theirs = (jax.jit(derivative(f))(scores) for f in (softmax, jax.nn.softmax))
        assert np.abs(theirs).max() > 0.01
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention_is_attention(causal):
    keys = jax.random.split(jax.random.key(0), 3)
    query = jax.random.normal(keys[0], (B, T, 4, 8))
    key, value = (jax.random.normal(k, (B, T, 2, 8)) for k in keys[1:])
    mask = jnp.tril(jnp.ones((1, T, T), bool)) if causal else None
    expected = attend(query, key, value, mask)
    actual = flash_attend(query, key, value, causal, implementation="xla")
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("documents", [None, DOCUMENTS])
@pytest.mark.parametrize("name", ["gpt_neox", "bert"])
def test_flash_attention_serves_all_blocks_but_the_last_on_whole_windows(
    name, documents, monkeypatch
):
    calls = []

    def stand_in(*args):
        calls.append(args)
        return flash_attend(*args, implementation="xla")

    monkeypatch.setattr(attention_room, "flash_attend", stand_in)
    config = dataclasses.replace(TINY[name], dtype="bfloat16", attention_dropout=0.0)
    fns, params = model(config)
    flash = jax.jit(transformer(dataclasses.replace(config, attention_impl="cudnn")).apply)
    batch = batch_of(random_tokens(), SUPERVISED, documents=documents)
    expected = fns.apply(params, batch)
    assert not calls
    error = np.abs(flash(params, batch) - expected).max() / np.abs(expected).max()
    assert error < 0.02
    assert len(calls) == (config.num_layers - 1 if documents is None else 0)
