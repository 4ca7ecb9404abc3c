"""Squared norms found without the gradients, compared with those of the gradients."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from el_jax.curvature.gradient_norms import gradient_norms
from el_jax.models import PRESETS, transformer
from el_jax.types import Batch

KEY = jax.random.key(0)
SIZES = {"vocab_size": 11, "width": 16, "num_layers": 2, "num_heads": 2, "max_length": 5}
NUM = 3  # cotangents pulled back through one function
pytestmark = pytest.mark.usefixtures("float64")


def cotangents_of(value):
    return jax.random.normal(KEY, (NUM, *value.shape), value.dtype)


def both(function, params):
    """Squared norms by cotangent and leaf, ours and those of the gradients themselves."""

    def ours(params):
        value, norms = gradient_norms(function, params)
        return value, jax.vmap(norms)(cotangents_of(value))

    value, found = jax.jit(ours)(params)
    np.testing.assert_allclose(value, jax.jit(function)(params), rtol=1e-9)

    @jax.jit
    def of_gradient(params, cotangent):
        (gradient,) = jax.vjp(function, params)[1](cotangent)
        return [jnp.square(leaf).sum() for leaf in jax.tree.leaves(gradient)]

    return found, np.array([of_gradient(params, c) for c in cotangents_of(value)])


def language_model(preset, **changes):
    """Log-probabilities at two places of one window, and parameters."""
    model = transformer(dataclasses.replace(PRESETS[preset], **SIZES, **changes))
    tokens, asked = jnp.array([[3, 1, 4, 1, 5]]), jnp.array([[1, 3]])
    batch = Batch(tokens, asked, asked, asked > 0, asked)
    params = jax.tree.map(lambda leaf: leaf.astype(float), jax.jit(model.init)(KEY))
    return lambda params: jax.nn.log_softmax(model.apply(params, batch)), params


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("budget_bert", {}),
        ("llama", {"num_kv_heads": 1}),
        ("gpt_neox", {"scan_layers": True}),  # in a loop gradients are squared directly
        ("gpt2", {"remat_layers": True}),
    ],
)
def test_norms_of_a_transformer_are_those_of_its_gradients(preset, changes):
    found, expected = both(*language_model(preset, **changes))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-14)


@settings(max_examples=12)
@given(
    rows=st.integers(1, 5), inputs=st.integers(1, 5), outputs=st.integers(1, 4), tied=st.booleans()
)
def test_any_number_of_rows_and_columns(rows, inputs, outputs, tied):
    rng = np.random.default_rng([rows, inputs, outputs])
    x = jnp.asarray(rng.normal(size=(rows, inputs)))
    params = {"w": jnp.asarray(rng.normal(size=(inputs, outputs))), "b": jnp.ones((1, outputs))}

    def function(params):
        hidden = jnp.tanh(x @ params["w"] + params["b"])
        return hidden @ params["w"].T if tied else hidden

    found, expected = both(function, params)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


def test_a_linear_function_hands_the_cotangent_to_its_matrix():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(2, 6)))
    found, expected = both(lambda params: x @ params, jnp.ones((6, 3)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_leaf_that_is_not_read_has_no_gradient():
    found, expected = both(lambda params: jnp.sin(params[0]), (jnp.ones(2), jnp.ones((3, 4))))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (found[:, 1] == 0).all()


def test_gradients_of_matrices_are_not_made():
    function, params = language_model("gpt2")
    value, norms = gradient_norms(function, params)
    made = {v.aval.shape for e in jax.make_jaxpr(norms)(value).eqns for v in e.outvars}
    wide = SIZES["width"], 4 * SIZES["width"]
    assert wide in {leaf.shape for leaf in jax.tree.leaves(params)}
    assert wide not in made
    assert wide[::-1] not in made
    assert (5, 4 * SIZES["width"]) in made  # cotangents of that matrix's product
