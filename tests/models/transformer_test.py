import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from tiny_models import TINY, B, T, V, batch_of, model, random_params, random_tokens

from el_jax.models import (
    MODELS,
    LookupTableConfig,
    LSTMConfig,
    TransformerConfig,
    transformer,
)
from el_jax.models.generation import generate

VARIED = ["gpt_neox", "bert", "llama"]
CAUSAL = [name for name, config in TINY.items() if config.causal]
SUPERVISED = jnp.array([[6, 0, 3], [2, 2, 5]])


def close(actual, expected, tolerance=1e-5):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def differs(actual, other):
    return np.abs(np.asarray(actual) - np.asarray(other)).max() > 1e-3


def cross_entropy(fns, batch):
    def loss(params):
        log_probs = jax.nn.log_softmax(fns.apply(params, batch))
        return -jnp.take_along_axis(log_probs, batch.labels[..., None], -1).mean()

    return loss


NETWORKS = {
    **{name: transformer(config) for name, config in TINY.items()},
    "lstm": MODELS["lstm"](LSTMConfig(vocab_size=V, width=4)),
    "lookup_table": MODELS["lookup_table"](LookupTableConfig(vocab_size=V)),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("wrong", [V, -1])
def test_a_token_id_that_no_row_stands_for_is_refused(name, wrong):
    fns, batch = NETWORKS[name], batch_of(random_tokens().at[1, 3].set(wrong))
    shapes = jax.eval_shape(fns.init, jax.random.key(0))
    params = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
    functions = [fns.apply] + ([fns.attention, fns.features] if name in TINY else [])
    for function in functions:
        with pytest.raises(ValueError, match=f"^token id {wrong}: must be in 0 .. {V - 1}, "):
            function(params, batch)
    jax.eval_shape(fns.apply, params, batch)  # a traced id has no value yet
    if name in CAUSAL:
        with pytest.raises(ValueError, match=f"^token id {wrong}: "):
            generate(TINY[name], params, batch.tokens, 1)


@pytest.mark.parametrize(
    ("name", "num_layers", "placed"),
    [("gpt_neox", 1, False), ("opt_350m", 1, False), *((name, 2, True) for name in TINY)],
)
def test_logits_at_some_positions_equal_those_among_all(name, num_layers, placed):
    fns, params = model(dataclasses.replace(TINY[name], num_layers=num_layers))
    places = {}
    if placed:
        places["positions"] = jnp.array([[5, 3, 2, 8, 1, 1, 0, 7], [3, 4, 5, 6, 7, 8, 9, 10]])
        places["documents"] = jnp.array([[0, 0, 1, 1, 1, 1, 2, 2], [3, 3, 0, 0, 0, 0, 0, 3]])
    among_all = fns.apply(params, batch_of(random_tokens(), **places))
    some = fns.apply(params, batch_of(random_tokens(), SUPERVISED, **places))
    assert some.shape == (*SUPERVISED.shape, V)
    close(some, jnp.take_along_axis(among_all, SUPERVISED[..., None], axis=1))


@pytest.mark.parametrize("name", TINY)
def test_packed_documents_equal_documents_alone(name):
    fns, params = model(TINY[name])
    documents = random_tokens(1, length=4), random_tokens(2, length=4)
    packed = batch_of(
        jnp.concatenate(documents, axis=1),
        positions=jnp.tile(jnp.arange(4), (B, 2)),
        documents=jnp.tile(jnp.repeat(jnp.arange(2), 4), (B, 1)),
    )
    alone = [fns.apply(params, batch_of(tokens)) for tokens in documents]
    close(fns.apply(params, packed), jnp.concatenate(alone, axis=1))


@pytest.mark.parametrize("name", TINY)
def test_only_learned_positions_notice_where_the_window_starts(name):
    fns, params = model(TINY[name])
    one_document = jnp.zeros((B, T), int)
    at_0, at_3 = (
        fns.apply(params, batch_of(random_tokens(), positions=positions, documents=one_document))
        for positions in (jnp.tile(jnp.arange(T) + start, (B, 1)) for start in (0, 3))
    )
    close(at_0, fns.apply(params, batch_of(random_tokens())))
    if TINY[name].position == "learned":
        assert differs(at_0, at_3)
    else:
        close(at_0, at_3, 1e-4)


def test_without_positions_a_bidirectional_model_ignores_order():
    config = dataclasses.replace(TINY["bert"], position="none")
    fns, params = model(config)
    tokens = random_tokens()
    order = jnp.array([3, 1, 6, 0, 5, 2, 7, 4])
    close(
        fns.apply(params, batch_of(tokens[:, order])), fns.apply(params, batch_of(tokens))[:, order]
    )


def test_a_window_longer_than_the_position_table_is_refused():
    fns, params = model(TINY["gpt2"])
    with pytest.raises(ValueError, match="max_length=12"):
        fns.apply(params, batch_of(random_tokens(length=13)))


@pytest.mark.parametrize("name", TINY)
def test_logits_are_the_product_of_the_readout(name):
    fns, params = model(TINY[name])
    batch = batch_of(random_tokens(), SUPERVISED)
    hidden, head, bias = jax.jit(transformer(TINY[name]).readout)(params, batch)
    assert (hidden.shape[:2], head.shape[1]) == (SUPERVISED.shape, V)
    assert (bias is not None) == TINY[name].head_bias
    logits = np.asarray(hidden) @ np.asarray(head) + (0 if bias is None else np.asarray(bias))
    close(fns.apply(params, batch), logits)


def test_the_readout_has_the_number_format_of_the_product():
    config = dataclasses.replace(TINY["bert"], dtype="bfloat16")
    fns = transformer(config)
    batch = batch_of(random_tokens(), SUPERVISED)
    readout = jax.eval_shape(fns.readout, random_params(config), batch)
    assert [x.dtype for x in readout] == [jnp.bfloat16, jnp.bfloat16, jnp.float32]
    assert jax.eval_shape(fns.apply, random_params(config), batch).dtype == jnp.float32


@pytest.mark.parametrize("name", VARIED)
def test_hessian_vector_products_agree_in_every_order_of_differentiation(name):
    config = TINY[name]
    if name != "gpt_neox":
        config = dataclasses.replace(config, num_layers=1)
    flat, unravel = ravel_pytree(random_params(config))
    vector = jax.random.normal(jax.random.key(3), flat.shape)
    loss_of_tree = cross_entropy(transformer(config), batch_of(random_tokens(), SUPERVISED))

    def loss(x):
        return loss_of_tree(unravel(x))

    def slope(x):
        return jax.jvp(loss, (x,), (vector,))[1]

    forward_over_reverse, reverse_over_forward, curvature = jax.jit(
        lambda x: (
            jax.jvp(jax.grad(loss), (x,), (vector,))[1],
            jax.grad(slope)(x),
            jax.jvp(slope, (x,), (vector,))[1],
        )
    )(flat)
    scale = np.abs(forward_over_reverse).max()
    assert 0 < scale < np.inf
    close(forward_over_reverse / scale, reverse_over_forward / scale, 1e-4)
    np.testing.assert_allclose(curvature, vector @ forward_over_reverse, rtol=1e-3)


INIT_STDS = {  # of matrices, and of projections into the residual stream, at D = 64 and N = 3
    "normal": (0.05, 0.05),
    "gpt2": (0.05, 0.05 / math.sqrt(6)),
    "neox": (math.sqrt(2 / (5 * 64)), 2 / (3 * 8)),
}


@pytest.mark.parametrize("scheme", INIT_STDS)
def test_init_has_the_standard_deviations_of_its_scheme(scheme):
    sizes = {"vocab_size": 50, "width": 64, "num_layers": 3, "num_heads": 4, "max_length": 64}
    config = TransformerConfig(
        **sizes, init=scheme, init_std=0.05, gated_mlp=True, position="learned", num_token_types=30
    )
    params = jax.jit(transformer(config).init)(jax.random.key(0))
    assert {x.dtype for x in jax.tree.leaves(params)} == {jnp.dtype("float32")}
    matrix, residual = INIT_STDS[scheme]
    for path, x in jax.tree_util.tree_leaves_with_path(params):
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        if name.endswith("scale"):
            np.testing.assert_array_equal(x, 1)
        elif name.endswith("bias"):
            np.testing.assert_array_equal(x, 0)
        else:
            expected = residual if "o.kernel" in name or "out.kernel" in name else matrix
            # five standard errors of a standard deviation
            np.testing.assert_allclose(x.std(), expected, rtol=5 / math.sqrt(2 * x.size))


DROPOUT_SITES = ["embedding_dropout", "attention_dropout", "residual_dropout"]


@pytest.mark.parametrize("site", DROPOUT_SITES)
def test_dropout_acts_only_with_a_key(site):
    none = dict.fromkeys(DROPOUT_SITES, 0.0)
    fns, params = model(dataclasses.replace(TINY["gpt2"], **none | {site: 0.5}))
    plain, _ = model(dataclasses.replace(TINY["gpt2"], **none))
    batch = batch_of(random_tokens())
    key, other = jax.random.split(jax.random.key(0))
    dropped = fns.apply(params, batch, key)
    np.testing.assert_array_equal(fns.apply(params, batch), plain.apply(params, batch))
    np.testing.assert_array_equal(plain.apply(params, batch, key), plain.apply(params, batch))
    np.testing.assert_array_equal(fns.apply(params, batch, key), dropped)
    assert differs(fns.apply(params, batch, other), dropped)
    assert differs(fns.apply(params, batch), dropped)


@pytest.mark.parametrize("name", [*VARIED, "opt_350m"])
def test_bfloat16_is_close_to_float32(name):
    fns, params = model(TINY[name])
    rounded, _ = model(dataclasses.replace(TINY[name], dtype="bfloat16"))
    batch = batch_of(random_tokens())
    exact, logits = (f.apply(params, batch) for f in (fns, rounded))
    assert logits.dtype == jnp.float32
    error = np.abs(logits - exact).max() / np.abs(exact).max()
    assert 1e-4 < error < 0.03  # a bfloat16 has 8 significant bits
    gradient = jax.eval_shape(jax.grad(cross_entropy(rounded, batch)), params)
    assert {x.dtype for x in jax.tree.leaves(gradient)} == {jnp.dtype("float32")}


def test_matmul_precision_reaches_every_product():
    config = dataclasses.replace(TINY["llama"], matmul_precision="highest", tie_head=False)
    text = str(
        jax.make_jaxpr(transformer(config).apply)(random_params(config), batch_of(random_tokens()))
    )
    assert text.count("Precision.HIGHEST") == 2 * text.count("dot_general[") > 0  # two operands
