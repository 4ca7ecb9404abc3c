"""The inside of a transformer: its parts add up, and patches act where they are put."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_models import TINY, batch_of, random_params, random_tokens

from el_jax.models import transformer
from el_jax.models.look import logit_lens, look

SUPERVISED = jnp.array([[6, 0, 3], [2, 2, 5]])
BATCH = batch_of(random_tokens(), SUPERVISED)
OTHER = BATCH._replace(tokens=BATCH.tokens[::-1])
MODEL, PARAMS = transformer(TINY["gpt_neox"]), random_params(TINY["gpt_neox"])
TRACE = jax.jit(lambda params: look(MODEL, params, BATCH))(PARAMS)


@pytest.mark.parametrize("name", ["gpt_neox", "gpt2", "llama", "bert"])
def test_logits_and_weights_are_the_models_and_parts_add_up(name):
    model, params = transformer(TINY[name]), random_params(TINY[name])
    trace = jax.jit(lambda params: look(model, params, BATCH))(params)
    logits = jnp.take_along_axis(trace.logits, SUPERVISED[..., None], axis=1)
    np.testing.assert_allclose(logits, model.apply(params, BATCH), atol=1e-5)
    weights = jnp.take_along_axis(trace.weights, SUPERVISED[None, :, None, :, None], axis=3)
    np.testing.assert_allclose(weights, model.attention(params, BATCH), atol=1e-6)
    if TINY[name].norm_placement == "pre":
        behind = trace.residual[:-1] + trace.attention + trace.mlp
        np.testing.assert_allclose(trace.residual[1:], behind, atol=1e-5)


def test_at_a_prompt_a_trace_shows_its_shapes():
    said = f"Trace(logits {list(TRACE.logits.shape)}, residual {list(TRACE.residual.shape)}, "
    assert repr(TRACE).startswith(said)


@pytest.mark.parametrize("part", ["residual", "attention", "mlp"])
def test_a_patch_of_what_is_there_changes_nothing(part):
    own = {
        (1, part, None): getattr(TRACE, part)[1],
        (0, part, (2, 4)): getattr(TRACE, part)[0][:, [2, 4]],
    }
    for found, expected in zip(look(MODEL, PARAMS, BATCH, own), TRACE, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("layer", range(TINY["gpt_neox"].num_layers + 1))
def test_the_whole_stream_of_another_batch_gives_its_logits(layer):
    other = look(MODEL, PARAMS, OTHER)
    patched = look(MODEL, PARAMS, BATCH, {(layer, "residual", None): other.residual[layer]})
    np.testing.assert_allclose(patched.logits, other.logits, atol=1e-5)
    np.testing.assert_array_equal(patched.residual[layer], other.residual[layer])
    assert np.abs(patched.logits - TRACE.logits).max() > 1e-2


@pytest.mark.parametrize("part", ["residual", "attention", "mlp"])
def test_a_patch_at_a_position_acts_there_and_later_only(part):
    patched = look(MODEL, PARAMS, BATCH, {(0, part, 4): jnp.ones((2, TINY["gpt_neox"].width))})
    change = np.abs(patched.logits - TRACE.logits).max((0, 2))
    np.testing.assert_allclose(change[:4], 0, atol=1e-6)
    assert change[4] > 1e-3
    np.testing.assert_array_equal(getattr(patched, part)[0][:, 4], 1)
    same = look(
        MODEL, PARAMS, BATCH, {(0, part, np.int64(4)): jnp.ones((2, 16))}
    )  # the position as a NumPy integer
    np.testing.assert_array_equal(same.logits, patched.logits)


def test_runs_are_looked_into_at_once_and_a_patch_has_a_gradient():
    runs = jax.tree.map(lambda leaf: jnp.stack([leaf, 2 * leaf]), PARAMS)
    both = jax.vmap(lambda params: look(MODEL, params, BATCH))(runs)
    np.testing.assert_allclose(both.residual[0], TRACE.residual, atol=1e-5)

    def score(value):
        return look(MODEL, PARAMS, BATCH, {(0, "mlp", 3): value}).logits[0, 5, 1]

    slope = jax.grad(score)(TRACE.mlp[0][:, 3])
    assert np.abs(slope[0]).max() > 0
    np.testing.assert_array_equal(slope[1], 0)


def test_the_lens_ends_at_the_logits():
    lens = logit_lens(MODEL, PARAMS, BATCH)
    assert lens.shape == (TINY["gpt_neox"].num_layers + 1, *TRACE.logits.shape)
    np.testing.assert_allclose(lens[-1], TRACE.logits, atol=1e-5)
    assert np.abs(lens[0] - TRACE.logits).max() > 1e-2


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ({(0, "resid", 1): 0}, "the part must be one of residual, attention, mlp"),
        ({(0, "mlp", (0, -1)): 0}, r"the position must be in 0 .. \d"),
        ({(0, "mlp", 1): TRACE.mlp[0, 0, 1]}, r"its values have shape \(\d+,\), not \(\d, \d+\)"),
    ],
)
def test_what_is_not_there_is_named(patch, said):
    with pytest.raises(ValueError, match=said):
        look(MODEL, PARAMS, BATCH, patch)
