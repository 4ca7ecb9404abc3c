"""Updates compared with formulas in NumPy float64, and the choice of decayed parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from el_jax.training.optimizers import (
    OPTIMIZERS,
    OptimizerConfig,
    make_optimizer,
    optimizer_numbers,
)
from el_jax.training.state import Hypers

KEY = jax.random.key(0)
OWN = {"b1": 0.8, "b2": 0.9, "epsilon": 1e-2, "weight_decay": 0.3}
MOMENTUM = {"momentum": 0.5, "weight_decay": 0.3}
PEAK_LR, WARMUP_STEPS = 0.1, 2
RATES = [0.0, 0.05, 0.1, 0.0875]  # of updates 0 to 3: warm-up, then linear to 0 at 10
DECAYED = {"table": True, "attention": {"kernel": True, "bias": False}, "scale": False}
SHAPES = {"table": (3, 2), "attention": {"kernel": (2, 2, 2), "bias": (2, 2)}, "scale": (2,)}


def tree(seed, scale=1.0):
    """Float64 arrays of SHAPES, with values that float32 holds exactly."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda shape: rng.integers(-64, 64, shape) / 64 * scale, SHAPES, is_leaf=is_shape
    )


def is_shape(node):
    return isinstance(node, tuple)


GRADIENTS = [tree(seed) for seed in range(1, 1 + len(RATES))]


def hypers(**optimizer):
    return Hypers(jnp.uint32(0), {}, optimizer)


def updated(config, gradients, peak_lr=PEAK_LR, warmup_steps=WARMUP_STEPS):
    """Parameters after the updates by the tested optimizer, in float32."""
    optimizer = make_optimizer(
        config, hypers(peak_lr=jnp.float32(peak_lr), warmup_steps=jnp.int32(warmup_steps))
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
        m = OWN["b1"] * m + (1 - OWN["b1"]) * g
        v = OWN["b2"] * v + (1 - OWN["b2"]) * g**2
        unbiased = (m / (1 - OWN["b1"] ** t)) / (np.sqrt(v / (1 - OWN["b2"] ** t)) + OWN["epsilon"])
        w = w - rate * (unbiased + OWN["weight_decay"] * decayed * w)
    return w


def sgd(start, gradients, decayed):
    """SGD with momentum on the sum of gradient and decay."""
    w, m = start, 0.0
    for rate, g in zip(RATES, gradients, strict=False):
        m = MOMENTUM["momentum"] * m + g + MOMENTUM["weight_decay"] * decayed * w
        w = w - rate * m
    return w


def signum(start, gradients, decayed):
    """The sign of a mean of gradients: Bernstein et al. 2018, algorithm 2, and decay."""
    w, m = start, 0.0
    for rate, g in zip(RATES, gradients, strict=False):
        m = MOMENTUM["momentum"] * m + (1 - MOMENTUM["momentum"]) * g
        w = w - rate * (np.sign(m) + MOMENTUM["weight_decay"] * decayed * w)
    return w


def by_numpy(rule, gradients):
    return jax.tree.map(lambda w, d, *g: rule(w, g, d), tree(0), DECAYED, *gradients)


def assert_close(found, expected):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), found, expected
    )


@pytest.mark.parametrize(("rule", "numbers"), [(adamw, OWN), (sgd, MOMENTUM), (signum, MOMENTUM)])
def test_an_optimizer_is_its_formula_with_decay_on_matrices_only(rule, numbers):
    found = updated(OptimizerConfig(rule.__name__, 10, "linear", numbers), GRADIENTS)
    assert_close(found, by_numpy(rule, GRADIENTS))


@pytest.mark.parametrize(("scale", "clip_norm"), [(0.01, 2.0), (100.0, 2.0), (100.0, None)])
def test_clipping_bounds_the_norm_of_the_whole_gradient(scale, clip_norm):
    gradient = tree(1, scale)
    norm = np.sqrt(sum(np.square(g).sum() for g in jax.tree.leaves(gradient)))
    clipped = {} if clip_norm is None else {"clip_norm": clip_norm}
    plain = OptimizerConfig("sgd", numbers={"weight_decay": 0.0} | clipped)
    share = 1 if clip_norm is None else min(1, clip_norm / norm)
    expected = jax.tree.map(lambda w, g: w - 0.5 * share * g, tree(0), gradient)
    assert_close(updated(plain, [gradient], peak_lr=0.5, warmup_steps=0), expected)


def linear(params):
    """A linear loss with its outputs, as ``update`` hands it to an optimizer."""
    return sum(leaf.sum() for leaf in jax.tree.leaves(params)), None


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_state_has_one_structure_whatever_the_numbers(name):
    """Every number of every optimizer may differ between the runs of one program."""
    values = {k: jnp.full(2, n.default, n.kind) for k, n in optimizer_numbers(name).items()}
    given = {"layers_0": {"kernel": jnp.ones((2, 2))}, "table": jnp.ones((2, 2))}

    def start(numbers):
        return make_optimizer(OptimizerConfig(name), hypers(**numbers)).init(given)

    def update(numbers, state):
        optimizer = make_optimizer(OptimizerConfig(name), hypers(**numbers))
        return optimizer.update(given, state, given, loss_of=linear, key=KEY)[1]

    state = jax.eval_shape(jax.vmap(start), values)
    assert all(leaf.shape[0] == 2 for leaf in jax.tree.leaves(state))
    after = jax.eval_shape(jax.vmap(update), values, state)
    assert jax.tree.structure(after) == jax.tree.structure(state)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_number_of_a_run_does_what_the_shared_one_does(name):
    own = {
        "adamw": OWN,
        "lion": {"b1": 0.8, "b2": 0.9, "weight_decay": 0.3},
        "muon": OWN | MOMENTUM,
        "noisy_adamw": {"noise": 0.1, "fading": 0.3, "b1": 0.8, "b2": 0.9},
        "sam": {"momentum": 0.5, "rho": 0.1},
        "schedule_free": {"b1": 0.8, "b2": 0.9, "weight_decay": 0.3},
        "sgd": MOMENTUM,
        "signum": MOMENTUM,
        "sophia": {"b1": 0.8, "b2": 0.9, "gamma": 0.1, "interval": 1, "weight_decay": 0.3},
    }[name]
    shared = OptimizerConfig(name, 10, "linear", {**own, "clip_norm": 0.5})
    pace = {"peak_lr": jnp.float32(PEAK_LR), "warmup_steps": jnp.int32(WARMUP_STEPS)}
    given = {"layers_0": jax.tree.map(jnp.float32, tree(1)), "table": jnp.ones((2, 2))}

    def first_update(config, numbers):
        optimizer = make_optimizer(config, hypers(**(pace | numbers)))
        _, state = optimizer.update(given, optimizer.init(given), given, loss_of=linear, key=KEY)
        return optimizer.update(given, state, given, loss_of=linear, key=KEY)[0]

    traced = {k: jnp.float32(v) for k, v in {**own, "clip_norm": 0.5}.items()}
    expected = jax.jit(lambda: first_update(shared, {}))()
    bare = OptimizerConfig(name, 10, "linear")
    assert_close(jax.jit(lambda numbers: first_update(bare, numbers))(traced), expected)
    without = jax.jit(lambda numbers: first_update(bare, numbers))(traced | {"clip_norm": 0.0})
    free = OptimizerConfig(name, 10, "linear", own)
    assert_close(without, jax.jit(lambda: first_update(free, {}))())


def test_noise_has_its_variance_fades_and_is_new_in_every_update():
    optimizer = make_optimizer(OptimizerConfig("noisy_adamw", numbers={"b1": 0.0}), hypers())
    zeros = {"x": jnp.zeros(100_000)}
    state = optimizer.init(zeros)
    state = jax.tree.map(lambda leaf: leaf, state)
    drawn = []
    for step in range(3):
        before = state
        _, state = optimizer.update(zeros, before, zeros, loss_of=linear, key=jax.random.key(step))
        (second,) = [
            now - 0.999 * then
            for now, then in zip(jax.tree.leaves(state), jax.tree.leaves(before), strict=True)
            if jnp.shape(now) == (100_000,) and (now >= 0).all()
        ]
        drawn.append(second / 0.001)  # squared noise
    variances = [float(each.mean()) for each in drawn]
    np.testing.assert_allclose(variances, 0.01 / (1 + np.arange(3)) ** 0.55, rtol=0.02)
    assert abs(np.corrcoef(drawn[0], drawn[1])[0, 1]) < 0.02


def test_sophia_is_its_formula_where_the_hessian_is_diagonal():
    """Hutchinson's estimate is exact there; a new estimate is first used in the next update."""
    curvature, rate, decay = np.array([[4.0, 1.0], [0.25, 0.0]]), 0.1, 0.3
    own = {"b1": 0.8, "b2": 0.9, "gamma": 2.0, "interval": 2, "weight_decay": decay}
    optimizer = make_optimizer(OptimizerConfig("sophia", numbers=own), hypers(peak_lr=rate))
    params = {"table": jnp.array([[0.5, -2.0], [3.0, 1.0]])}
    state, w, m, h = optimizer.init(params), np.array(params["table"], np.float64), 0.0, 0.0

    def loss_of(params):
        return 0.5 * (curvature * params["table"] ** 2).sum(), None

    for t in range(5):
        gradient = jax.grad(loss_of, has_aux=True)(params)[0]
        more = {"loss_of": loss_of, "key": jax.random.key(t)}
        changes, state = optimizer.update(gradient, state, params, **more)
        params = optax.apply_updates(params, changes)
        m = 0.8 * m + 0.2 * curvature * w
        unbiased = m / (1 - 0.8 ** (t + 1))
        w = w - rate * (np.clip(unbiased / np.maximum(2.0 * h, 1e-8), -1, 1) + decay * w)
        h = 0.9 * h + 0.1 * curvature if t % 2 == 0 else h
        np.testing.assert_allclose(params["table"], w, rtol=1e-5)


def test_sophia_s_diagonal_is_right_on_average():
    matrix = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, -0.7], [0.5, -0.7, 1.0]])
    point, zero = {"x": jnp.ones(3)}, {"x": jnp.zeros(3)}
    own = {"b2": 0.0, "interval": 1}
    optimizer = make_optimizer(OptimizerConfig("sophia", numbers=own), hypers())

    def loss_of(params):
        return 0.5 * params["x"] @ jnp.asarray(matrix, jnp.float32) @ params["x"], None

    def diagonal(key):
        state = optimizer.init(point)
        state = optimizer.update(zero, state, point, loss_of=loss_of, key=key)[1]
        return optax.tree.get(state, "nu")["x"]

    drawn = jax.jit(jax.vmap(diagonal))(jax.random.split(jax.random.key(0), 4_000))
    np.testing.assert_allclose(drawn.mean(0), np.diag(matrix), atol=0.1)
    assert drawn.std(0).min() > 0.5  # one estimate has an error


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("decay_fraction", 0.0),
        ("cycles", 0.5),
        ("momentum", 0.5),
    ],
)
def test_impossible_numbers_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name}={value}: must be "):
        OptimizerConfig("adamw", numbers={name: value})


@pytest.mark.parametrize("warmup", [0, 4])
def test_schedule_free_averages_adams_iterates_and_descends_at_their_mixture(warmup):
    a, x, v, weights = np.array([3.0, 1.0]), np.array([1.0, -2.0]), 0.0, 0.0
    optimizer = make_optimizer(
        OptimizerConfig("schedule_free", numbers={"b1": 0.8, "b2": 0.9, "weight_decay": 0.0}),
        hypers(peak_lr=jnp.float32(0.1), warmup_steps=jnp.int32(warmup)),
    )

    def loss_of(params):
        return jnp.asarray(a, jnp.float32) @ jnp.square(params["x"]) / 2, "outputs"

    params = {"x": jnp.asarray(x, jnp.float32)}
    state, z = optimizer.init(params), x.copy()
    for t in range(1, 8):
        slope = a * (0.8 * x + 0.2 * z)
        v = 0.9 * v + 0.1 * slope**2
        rate = 0.1 * min((t - 1) / warmup, 1) if warmup else 0.1
        z = z - rate * slope / (np.sqrt(v / (1 - 0.9**t)) + 1e-8)
        weights += rate**2  # at a constant rate the average is plain
        x = x + (z - x) * rate**2 / max(weights, 1e-9)
        changes, state = optimizer.update(params, state, params, loss_of=loss_of)
        params = optax.apply_updates(params, changes)
        np.testing.assert_allclose(params["x"], x, rtol=1e-5, atol=1e-6)
