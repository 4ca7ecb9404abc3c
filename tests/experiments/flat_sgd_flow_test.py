"""Drift of the two models along minimisers, compared with calculus."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from el_jax.curvature import Hessian
from el_jax.process.compilation import Once
from el_jax.worlds import block_hmm, exact_entropy_floor
from experiments.flat_sgd_flow import drift, network, product, run

WORLD = block_hmm(vocab_size=3, num_states=3, length=2, num_blocks=1, concentration=3.0, seed=0)
pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture(scope="module")
def minimum():
    with jax.enable_x64(True):
        given = network.contexts_of(WORLD)
        net = network.trained(jax.random.key(0), given, width=8, scale=1.0, num_steps=300)
        return net, given


# ---- the product model ---------------------------------------------------------------------------


def test_the_product_starts_on_its_minima_and_falls_as_predicted():
    u, v = product.start()
    assert jax.nn.sigmoid(u * v) == pytest.approx(product.PROBABILITY)
    assert u**2 - v**2 == pytest.approx(product.START)
    ratios = product.simulate(jax.random.key(0), 0.1, 238, batch=2, num_paths=400, num_marks=2)
    expected = product.predicted(0.1, 2, np.array([0, 238, 476]))
    np.testing.assert_allclose(ratios, expected, rtol=0.03)
    assert product.time_constant(0.1, 2) == 952


def test_a_step_of_the_product_multiplies_the_distance():
    u, v, rate, slope = 1.3, -0.4, 0.1, 0.6
    after = (u - rate * slope * v) ** 2 - (v - rate * slope * u) ** 2
    assert after == pytest.approx((u**2 - v**2) * (1 - rate**2 * slope**2))


# ---- the network ---------------------------------------------------------------------------------


def test_the_network_reaches_a_minimum_where_hessian_and_fisher_meet(minimum):
    net, given = minimum
    numbers = run.of_minimum(net, given)
    assert abs(numbers["divergence"]) < 1e-12
    assert numbers["hessian_ratio"] == pytest.approx(1, abs=1e-7)
    assert numbers["missing_rank"] == 0
    assert numbers["tangent_dimensions"] == numbers["parameters"] - 12
    assert given.weights.sum() == pytest.approx(1)
    entropy = given.weights @ jax.scipy.special.entr(given.truth).sum(axis=1)
    assert entropy == pytest.approx(float(exact_entropy_floor(WORLD)))


def test_the_direction_is_the_slope_of_the_trace_in_the_null_space_of_the_hessian(minimum):
    net, given = minimum
    theta, restore = ravel_pytree(net)

    def hessian(theta):
        return Hessian(lambda net: network.divergence(net, given), restore(theta))

    slope = Once(jax.grad(lambda theta: hessian(theta).exact_trace(chunk=64)))(theta)
    values, vectors = np.linalg.eigh(Once(lambda theta: hessian(theta).dense())(theta))
    tangent = vectors[:, values < 1e-9 * values[-1]]
    expected = -tangent @ (tangent.T @ slope)
    np.testing.assert_allclose(network.flattening(net, given), expected, atol=1e-6)
    assert drift.predicted_slope(net, given) == pytest.approx(float(expected @ expected) / 4)


def test_the_flow_stays_on_the_minima_and_starts_at_the_predicted_slope(minimum):
    net, given = minimum
    traces = drift.predicted_traces(net, given, 0.02, num_marks=2, steps_per_mark=2)
    slope = float(drift.predicted_slope(net, given))
    assert (traces[0] - traces[1]) / 0.01 == pytest.approx(slope, rel=0.02)
    away = jax.tree.map(lambda leaf: leaf + 0.01, net)
    back = network.nearest_minimum(away, given)
    assert abs(float(network.divergence(back, given))) < 1e-12


def test_without_noise_nothing_moves_and_with_it_the_loss_is_that_of_the_noise(minimum):
    net, given = minimum
    nets = jax.tree.map(lambda leaf: jnp.stack([leaf] * 64), net)
    still = drift.full_descent(nets, given, 0.1, 50)
    for leaf, start in zip(still, nets, strict=True):
        np.testing.assert_allclose(leaf, start, atol=1e-7)
    keys = jax.random.split(jax.random.key(1), 64)
    moved = drift.stochastic_descent(nets, keys, given, 0.02, 2000, batch=4)
    seen = run.means(moved, given)
    assert seen.divergence == pytest.approx(0.02 / 16 * seen.trace, rel=0.3)
    assert seen.trace < float(network.trace(net, given))


def test_ratios_of_a_path_that_follows_theory_are_one():
    time = 0.5 * np.arange(run.MARKS + 1)
    path = run.Course(3 - 0.2 * time, np.full(time.size, 0.2), 0.01 * (3 - 0.2 * time))
    numbers = run.path_numbers(path, 3 - 0.2 * time, 0.01, 0.5)
    for name in ("fall_ratio", "slope_ratio", "loss_ratio"):
        assert numbers[name] == pytest.approx(1)
    assert numbers["loss_change"] < 1
