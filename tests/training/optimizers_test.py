import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from el_jax.training.optimizers import OptimizerConfig, make_optimizer
from el_jax.training.state import Hypers

CONFIG = OptimizerConfig(num_updates=10, weight_decay=0.1)
HYPERS = Hypers(jnp.uint32(0), jnp.float32(0.01), jnp.int32(0), {})
PARAMS = {"q": {"kernel": jnp.array([[1.0, -2.0]]), "bias": jnp.array([[0.5, 3.0]])}}
GRADS = [
    {"q": {"kernel": jnp.array([[0.3, -1.0]]), "bias": jnp.array([[2.0, 0.1]])}},
    {"q": {"kernel": jnp.array([[-0.2, 0.4]]), "bias": jnp.array([[1.0, -0.7]])}},
]


def trained(config, hypers=HYPERS):
    optimizer = make_optimizer(config, hypers)
    params, state = PARAMS, optimizer.init(PARAMS)
    for grads in GRADS:
        updates, state = optimizer.update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return params["q"]


def adamw(theta, grads, decay, lr=0.01, b1=0.9, b2=0.999, epsilon=1e-8):
    """Loshchilov & Hutter 2019, algorithm 2, in float64."""
    theta, m, v = np.float64(theta), 0.0, 0.0
    for t, g in enumerate(np.float64(grads), 1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        step = (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + epsilon)
        theta = theta - lr * (step + decay * theta)
    return theta


def test_adamw_is_its_definition_and_decays_matrices_only():
    ours = trained(CONFIG)
    for name, decay in (("kernel", 0.1), ("bias", 0.0)):
        expected = adamw(PARAMS["q"][name], [g["q"][name] for g in GRADS], decay)
        np.testing.assert_allclose(ours[name], expected, rtol=1e-6)


def test_rate_and_warm_up_are_the_runs_own_and_traced():
    config = dataclasses.replace(CONFIG, name="sgd", b1=0.0, weight_decay=0.0)
    rates, warmups = jnp.array([0.1, 0.2]), jnp.array([0, 4])

    def final(lr, warmup):
        return trained(config, Hypers(jnp.uint32(0), lr, warmup, {}))["kernel"]

    ours = jax.vmap(final)(rates, warmups)
    first, second = (np.asarray(g["q"]["kernel"]) for g in GRADS)
    start = np.asarray(PARAMS["q"]["kernel"])
    np.testing.assert_allclose(ours[0], start - 0.1 * (first + second), rtol=1e-6)
    # warm-up over 4 updates: rates 0 and 1/4 of the peak
    np.testing.assert_allclose(ours[1], start - 0.2 * 0.25 * second, rtol=1e-6)


def test_clipping_bounds_the_global_norm():
    config = dataclasses.replace(CONFIG, name="sgd", b1=0.0, weight_decay=0.0, clip_norm=1e-3)
    ours = trained(config)
    moved = jnp.sqrt(sum(jnp.square(ours[k] - PARAMS["q"][k]).sum() for k in ours))
    assert 0 < moved <= 2 * 0.01 * 1e-3 * (1 + 1e-3)


@pytest.mark.parametrize(
    ("field", "value"),
    [("b1", 1.0), ("b2", -0.1), ("epsilon", 0.0), ("weight_decay", -1.0), ("clip_norm", -1.0),
     ("decay_fraction", 0.0), ("num_updates", 0)],
)  # fmt: skip
def test_values_out_of_range_are_named(field, value):
    with pytest.raises(ValueError, match=f"{field}={value}"):
        dataclasses.replace(CONFIG, **{field: value})
