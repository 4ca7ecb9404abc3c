"""Scaled and centred outputs, and the drift of their tangent kernel."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.models import PRESETS, transformer
from el_jax.tasks import PaddedCopy
from experiments.el_lazy.model import CentredConfig, centred, laziness, tangent_kernel

TASK = PaddedCopy(alphabet_size=4, padding_length=3, num_train=64)
SIZES = {"width": 16, "num_layers": 1, "num_heads": 2}


def made(scale):
    config = CentredConfig(vocab_size=TASK.vocab_size, output_scale=scale, **SIZES)
    model = centred(config)
    return model, model.init(jax.random.key(0))


def moved(params, amount):
    key = jax.random.key(1)
    return params | {
        "now": jax.tree.map(
            lambda leaf: leaf + amount * jax.random.normal(key, leaf.shape), params["now"]
        )
    }


def test_outputs_are_those_of_the_transformer_less_those_at_the_start():
    batch = TASK.pack(TASK.test_set(8))
    plain = transformer(
        dataclasses.replace(PRESETS["gpt_neox"], vocab_size=TASK.vocab_size, **SIZES)
    )
    for scale in (0.5, 4.0):
        model, params = made(scale)
        np.testing.assert_array_equal(model.apply(params, batch), 0)
        params = moved(params, 0.3)
        difference = plain.apply(params["now"], batch) - plain.apply(params["start"], batch)
        np.testing.assert_allclose(model.apply(params, batch), scale * difference, rtol=1e-5)


def test_only_the_moving_parameters_have_a_gradient():
    batch = TASK.pack(TASK.test_set(8))
    model, params = made(2.0)
    slopes = jax.grad(lambda p: jnp.sin(model.apply(p, batch)[..., 0]).sum())(moved(params, 0.3))
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(slopes["start"]))
    assert any((leaf != 0).any() for leaf in jax.tree.leaves(slopes["now"]))


def test_the_drift_is_none_at_the_start_and_grows_with_the_move():
    drifts = []
    for amount in (0.0, 0.01, 0.3):
        model, params = made(2.0)
        runs = jax.tree.map(lambda leaf: leaf[None], moved(params, amount))
        found = laziness(TASK, model).of_params(runs)
        drifts.append(found["kernel_drift"].item())
        norms = [
            np.sqrt(sum(np.square(leaf).sum() for leaf in jax.tree.leaves(tree)))
            for tree in (
                jax.tree.map(jnp.subtract, moved(params, amount)["now"], params["start"]),
                params["start"],
            )
        ]
        assert found["parameter_drift"].item() == pytest.approx(norms[0] / norms[1], rel=1e-5)
    assert drifts[0] == pytest.approx(0, abs=1e-5)
    assert 1e-5 < drifts[1] < drifts[2] < 1


def test_a_quadratic_form_of_the_kernel_is_the_square_of_a_gradient():
    model, params = made(2.0)
    start, now = params["start"], moved(params, 0.1)["now"]
    batch = TASK.pack(TASK.test_set(8))

    @jax.jit
    def gradient(now, v):
        def weighted(now):
            logits = model.apply({"now": now, "start": start}, batch)[:, 0]
            return v @ (logits[jnp.arange(8), batch.labels[:, 0]] - logits.mean(1))

        return sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(jax.grad(weighted)(now)))

    kernel = jax.jit(lambda now: tangent_kernel(model, now, start, batch))(now)
    for key in jax.random.split(jax.random.key(2), 3):
        v = jax.random.normal(key, (8,))
        np.testing.assert_allclose(v @ kernel @ v, gradient(now, v), rtol=1e-4)
