"""Updates against the formulas in NumPy float64, and the choice of decayed parameters."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from el_jax.training.optimizers import OPTIMIZERS, OptimizerConfig, make_optimizer
from el_jax.training.state import Hypers

ADAMW = OptimizerConfig(
    schedule="linear", num_updates=10, b1=0.8, b2=0.9, epsilon=1e-2, weight_decay=0.3
)
SGD = dataclasses.replace(ADAMW, name="sgd", b1=0.5)
PEAK_LR, WARMUP_STEPS = 0.1, 2
RATES = [0.0, 0.05, 0.1, 0.0875]  # of updates 0 to 3: warm-up, then linear to 0 at 10
DECAYED = {"table": True, "attention": {"kernel": True, "bias": False}, "scale": False}
SHAPES = {"table": (3, 2), "attention": {"kernel": (2, 2, 2), "bias": (2, 2)}, "scale": (2,)}


def tree(seed, scale=1.0):
    """Arrays of SHAPES in float64 that float32 holds exactly."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda shape: rng.integers(-64, 64, shape) / 64 * scale, SHAPES, is_leaf=is_shape
    )


def is_shape(node):
    return isinstance(node, tuple)


GRADIENTS = [tree(seed) for seed in range(1, 1 + len(RATES))]


def updated(config, gradients, peak_lr=PEAK_LR, warmup_steps=WARMUP_STEPS):
    """Parameters after the updates by the tested optimizer, in float32."""
    optimizer = make_optimizer(
        config, Hypers(jnp.uint32(0), jnp.float32(peak_lr), jnp.int32(warmup_steps), {})
    )

    @jax.jit
    def update(params, state, gradient):
        change, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, change), state

    params = jax.tree.map(jnp.float32, tree(0))
    state = optimizer.init(params)
    for gradient in gradients:
        params, state = update(params, state, jax.tree.map(jnp.float32, gradient))
    return params


def adamw(start, gradients, decayed):
    """AdamW: Loshchilov & Hutter 2019, algorithm 2, arXiv 1711.05101."""
    w, m, v = start, 0.0, 0.0
    for t, (rate, g) in enumerate(zip(RATES, gradients, strict=False), start=1):
        m = ADAMW.b1 * m + (1 - ADAMW.b1) * g
        v = ADAMW.b2 * v + (1 - ADAMW.b2) * g**2
        unbiased = (m / (1 - ADAMW.b1**t)) / (np.sqrt(v / (1 - ADAMW.b2**t)) + ADAMW.epsilon)
        w = w - rate * (unbiased + ADAMW.weight_decay * decayed * w)
    return w


def sgd(start, gradients, decayed):
    """SGD with momentum on the sum of gradient and decay."""
    w, m = start, 0.0
    for rate, g in zip(RATES, gradients, strict=False):
        m = SGD.b1 * m + g + SGD.weight_decay * decayed * w
        w = w - rate * m
    return w


def by_numpy(rule, gradients):
    return jax.tree.map(lambda w, d, *g: rule(w, g, d), tree(0), DECAYED, *gradients)


def assert_close(found, expected):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), found, expected
    )


def test_adamw_is_its_formula_with_decay_on_matrices_only():
    assert_close(updated(ADAMW, GRADIENTS), by_numpy(adamw, GRADIENTS))


def test_sgd_is_its_formula_with_decay_on_matrices_only():
    assert_close(updated(SGD, GRADIENTS), by_numpy(sgd, GRADIENTS))


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_clipping_bounds_the_norm_of_the_whole_gradient(scale):
    gradient = tree(1, scale)
    norm = np.sqrt(sum(np.square(g).sum() for g in jax.tree.leaves(gradient)))
    plain = dataclasses.replace(SGD, schedule="constant", weight_decay=0.0, clip_norm=2.0)
    expected = jax.tree.map(lambda w, g: w - 0.5 * min(1, 2 / norm) * g, tree(0), gradient)
    assert_close(updated(plain, [gradient], peak_lr=0.5, warmup_steps=0), expected)


def test_without_clip_norm_nothing_is_clipped():
    gradient = tree(1, 100.0)
    plain = dataclasses.replace(SGD, schedule="constant", weight_decay=0.0)
    expected = jax.tree.map(lambda w, g: w - 0.5 * g, tree(0), gradient)
    assert_close(updated(plain, [gradient], peak_lr=0.5, warmup_steps=0), expected)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_state_has_one_structure_whatever_the_rate(name):
    config = dataclasses.replace(ADAMW, name=name)

    def start(peak_lr, warmup_steps):
        hypers = Hypers(jnp.uint32(0), peak_lr, warmup_steps, {})
        return make_optimizer(config, hypers).init({"kernel": jnp.ones((2, 2))})

    runs = jax.eval_shape(jax.vmap(start), jnp.array([0.1, 0.2]), jnp.array([0, 5]))
    assert all(leaf.shape[0] == 2 for leaf in jax.tree.leaves(runs))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_updates", 0),
        ("decay_fraction", 0.0),
        ("decay_fraction", 1.5),
        ("b1", 1.0),
        ("b2", -0.1),
        ("epsilon", 0.0),
        ("weight_decay", -0.1),
        ("clip_norm", -1.0),
    ],
)
def test_impossible_numbers_are_refused(field, value):
    with pytest.raises(ValueError, match=f"^{field}={value}: must be "):
        dataclasses.replace(ADAMW, **{field: value})
