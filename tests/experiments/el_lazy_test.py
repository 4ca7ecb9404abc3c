"""Scaled and centred outputs, and the drift of their tangent kernel."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.models import PRESETS, transformer
from el_jax.process.compilation import Once
from el_jax.tasks import PaddedCopy
from experiments.el_lazy.model import CentredConfig, centred, laziness, tangent_kernel

TASK = PaddedCopy(alphabet_size=4, padding_length=3, num_train=64)
SIZES = {"width": 16, "num_layers": 1, "num_heads": 2}


def made(scale):
    config = CentredConfig(vocab_size=TASK.vocab_size, output_scale=scale, **SIZES)
    model = centred(config)
    return model, Once(model.init)(jax.random.key(0))


@Once
def moved(params, amount):
    key = jax.random.key(1)
    return params | {
        "now": jax.tree.map(
            lambda leaf: leaf + amount * jax.random.normal(key, leaf.shape), params["now"]
        )
    }


@functools.cache
def batch_of_8():
    return Once(lambda: TASK.pack(TASK.test_set(8)))()


def test_outputs_are_those_of_the_transformer_less_those_at_the_start():
    batch = batch_of_8()
    plain = transformer(
        dataclasses.replace(PRESETS["gpt_neox"], vocab_size=TASK.vocab_size, **SIZES)
    )
    outputs = Once(plain.apply)
    for scale in (0.5, 4.0):
        model, params = made(scale)
        apply = Once(model.apply)
        np.testing.assert_array_equal(apply(params, batch), 0)
        params = moved(params, 0.3)
        difference = outputs(params["now"], batch) - outputs(params["start"], batch)
        np.testing.assert_allclose(apply(params, batch), scale * difference, rtol=1e-5, atol=1e-6)


def test_only_the_moving_parameters_have_a_gradient():
    batch = batch_of_8()
    model, params = made(2.0)
    slope = Once(jax.grad(lambda p: jnp.sin(model.apply(p, batch)[..., 0]).sum()))
    slopes = slope(moved(params, 0.3))
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(slopes["start"]))
    assert any((leaf != 0).any() for leaf in jax.tree.leaves(slopes["now"]))


def test_the_drift_is_none_at_the_start_and_grows_with_the_move():
    drifts, (model, params) = [], made(2.0)
    probe = laziness(TASK, model)
    for amount in (0.0, 0.01, 0.3):
        runs = jax.tree.map(lambda leaf: leaf[None], moved(params, amount))
        found = probe.of_params(runs)
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
    batch = batch_of_8()

    @Once
    def gradient(now, v):
        def weighted(now):
            logits = model.apply({"now": now, "start": start}, batch)[:, 0]
            return v @ (logits[jnp.arange(8), batch.labels[:, 0]] - logits.mean(1))

        return sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(jax.grad(weighted)(now)))

    kernel = Once(lambda now: tangent_kernel(model, now, start, batch))(now)
    for key in jax.random.split(jax.random.key(2), 3):
        v = jax.random.normal(key, (8,))
        np.testing.assert_allclose(v @ kernel @ v, gradient(now, v), rtol=1e-4)
