"""Blocks in a loop, or computed again for the backward pass, give the same as plain blocks."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_models import TINY, batch_of, random_params, random_tokens

from el_jax.models import transformer

SUPERVISED = jnp.array([[6, 0, 3], [2, 2, 5]])


def both(name, **changes):
    """A deep enough configuration, one block at a time and in a loop."""
    config = dataclasses.replace(TINY[name], num_layers=4, **changes)
    return config, dataclasses.replace(config, scan_layers=True)


def close(actual, expected, tolerance):
    """Assert that each array agrees to within ``tolerance`` of its own largest entry, or of 1."""
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for a, e in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, e, rtol=0, atol=tolerance * max(1, np.abs(e).max()))


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("bert", "llama")]


@pytest.mark.parametrize("name", ["gpt_neox", *SLOW])
def test_logits_and_gradients_are_the_same(name):
    unrolled, scanned = both(name)
    batch = batch_of(random_tokens(), SUPERVISED)

    def logits_and_gradient(config):
        def loss(params):
            logits = transformer(config).apply(params, batch)
            return jnp.sin(logits).sum(), logits

        gradient, logits = jax.jit(jax.grad(loss, has_aux=True))(random_params(unrolled))
        return logits, gradient

    found, expected = logits_and_gradient(scanned), logits_and_gradient(unrolled)
    close(found[0], expected[0], 1e-6)
    close(found[1], expected[1], 1e-5)


def test_parameters_keep_their_names_and_values():
    unrolled, scanned = (transformer(config).init(jax.random.key(1)) for config in both("gpt_neox"))
    assert {f"layers_{i}" for i in range(4)} <= set(unrolled)
    jax.tree.map(np.testing.assert_array_equal, scanned, unrolled)


@pytest.mark.parametrize("scan", [True, False])
def test_blocks_that_are_computed_again_give_the_same_and_keep_less(scan):
    plain = dataclasses.replace(
        TINY["gpt_neox"], num_layers=6, residual_dropout=0.5, scan_layers=scan
    )
    again = dataclasses.replace(plain, remat_layers=True)
    batch, key = batch_of(jnp.tile(random_tokens(), (8, 8))), jax.random.key(0)

    def gradient_and_kept(config):
        def loss(params):
            return jnp.sin(transformer(config).apply(params, batch, key)).sum()

        _, pull = jax.vjp(loss, random_params(plain))
        return jax.jit(pull)(1.0), sum(leaf.nbytes for leaf in jax.tree.leaves(pull))

    (found, kept), (expected, kept_by_plain) = map(gradient_and_kept, (again, plain))
    close(found, expected, 1e-5)
    assert kept < 0.5 * kept_by_plain


@pytest.mark.parametrize("num_layers", [1, 6])
def test_the_blocks_are_one_program_whatever_their_number(num_layers):
    config = dataclasses.replace(both("gpt_neox")[1], num_layers=num_layers)
    batch = batch_of(random_tokens(), SUPERVISED)
    program = str(jax.make_jaxpr(transformer(config).apply)(random_params(config), batch))
    blocks = min(num_layers, 2)  # the last block, and the body of the loop
    assert program.count(" scan[") == blocks - 1
    assert program.count(" dot_general[") == 8 * blocks + 1


def test_attention_weights_are_the_same():
    unrolled, scanned = both("gpt_neox")
    batch, params = batch_of(random_tokens(), SUPERVISED), random_params(unrolled)
    expected = transformer(unrolled).attention(params, batch)
    np.testing.assert_array_equal(transformer(scanned).attention(params, batch), expected)


@pytest.mark.parametrize("scan", [True, False])
def test_dropout_differs_between_layers(scan):
    config = dataclasses.replace(
        TINY["gpt_neox"], num_layers=3, residual_dropout=0.5, final_norm=False, scan_layers=scan
    )
    params = jax.tree.map(jnp.zeros_like, random_params(config))
    for name in ("layers_0", "layers_1"):  # each adds 1 to every entry, before dropout
        params[name]["mlp"]["out"]["bias"] += 1
    hidden = (
        transformer(config).readout(params, batch_of(random_tokens()), jax.random.key(0)).hidden
    )
    # kept entries are doubled; 2 is kept by one layer and dropped by the other
    assert set(np.unique(hidden).tolist()) == {0, 2, 4}
