"""The flattest nets on balanced brackets: bound, families and transfer.

Everything is enumerated at T = 4, where an integer neuron's conditions can be tried one by one.
"""

import itertools
from collections import Counter

import jax
import numpy as np
import pytest

from el_jax.worlds import Dyck
from experiments.flat_dyck import model, run, solutions, training, transfer

GIVEN = run.data(4)
pytestmark = pytest.mark.usefixtures("float64")


# ---- the bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "length"), [("transferable", 4), ("transferable", 6), ("kinked", 4)]
)
def test_both_solutions_fit_and_attain_the_bound(name, length):
    numbers = run.flatness(getattr(solutions, name)(length), run.data(length))
    assert numbers["loss"] < 1e-28
    assert numbers["trace_ratio"] == pytest.approx(1, abs=1e-12)
    assert numbers["rescaled_ratio"] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("name", "ratio"), [("transferable", 1), ("kinked", 1.25)])
def test_half_of_the_neurons_on_a_kink_are_on_beside_it(name, ratio):
    net = getattr(solutions, name)(4)
    assert run.hessian_ratio(net, GIVEN) == pytest.approx(1, abs=1e-12)
    for seed in range(2):
        assert run.hessian_ratio(run.nearby(net, seed), GIVEN) == pytest.approx(ratio, abs=1e-4)


def test_rescaling_a_neuron_changes_the_trace_and_not_its_least_value():
    net = solutions.transferable(4)
    scale = np.array([3.0, 1.0])
    scaled = net._replace(values=net.values / scale[:, None], head=net.head * scale)
    numbers = run.flatness(scaled, GIVEN)
    assert numbers["loss"] < 1e-28
    assert numbers["trace_ratio"] == pytest.approx((1 + (9 + 1 / 9) / 2) / 2)
    assert numbers["rescaled_ratio"] == pytest.approx(1)


def test_the_squared_gradient_is_the_mean_over_inputs():
    net = training.initial(jax.random.key(0), 4, 3)
    found = model.squared_gradient(net, GIVEN.masked.inputs[:7])  # not a multiple of a chunk
    each = jax.vmap(jax.grad(model.output), (None, 0))(net, GIVEN.masked.inputs[:7])
    for leaf, expected in zip(found, each, strict=True):
        np.testing.assert_allclose(leaf, np.square(expected).mean(axis=0))


def test_random_features_fit_above_the_bound():
    numbers = run.flatness(solutions.random_features(GIVEN.masked, 48, seed=0), GIVEN)
    assert numbers["loss"] < 1e-20
    assert numbers["trace_ratio"] > numbers["rescaled_ratio"] > 2


def test_training_fits_and_the_penalty_flattens():
    traces = []
    for name in ("plain", "penalty"):
        net = training.train(
            jax.random.key(0), GIVEN.masked, training.TRAININGS[name], num_neurons=24, num_steps=300
        )
        numbers = run.flatness(net, GIVEN)
        assert numbers["loss"] < run.FITS
        traces.append(numbers["trace_ratio"])
    assert 1 <= traces[1] < traces[0] / 2


# ---- families of neurons -------------------------------------------------------------------------


def brute_force(largest: int) -> Counter:
    """Families of all neurons that take one value besides 0 where y = −1 and are off elsewhere."""
    every = np.array(list(itertools.product(range(-largest, largest + 1), repeat=8)), np.int8)
    active = every @ GIVEN.masked.inputs.sum(axis=1).astype(np.int8).T
    off, on = active[:, GIVEN.masked.answers == 1], active[:, GIVEN.masked.answers == -1]
    top = on.max(axis=1, keepdims=True)
    fits = (top[:, 0] > 0) & ((on == 0) | (on == top)).all(axis=1) & (off <= 0).all(axis=1)
    scaled = np.unique(2 * every[fits] / top[fits], axis=0)
    return Counter(solutions.family(row[:4], np.abs(row[4:])) for row in scaled)


def test_the_enumeration_finds_what_brute_force_finds():
    (numbers,) = [dict(measured.numbers) for measured in run.enumerated(4, 2)]
    found = brute_force(2)
    assert found == {"i": 1, "ii": 16, "iii": 8, "iv": 8}
    for name in ("i", "ii", "iii", "iv"):
        assert numbers[f"neurons_{name}"] == found[name]
    assert numbers["neurons_other"] == 0
    assert numbers["share_reading_balance"] == pytest.approx(17 / 33)


def test_the_kinked_net_is_made_of_families_one_three_and_four():
    rows = np.asarray(solutions.kinked(4).values) / 4**0.75 * [[-2], [2], [2]]
    assert [solutions.family(row[:4], np.abs(row[4:])) for row in rows] == ["i", "iii", "iv"]
    assert solutions.family(rows[1][:4], np.zeros(4)) == ""


# ---- transfer ------------------------------------------------------------------------------------


def test_the_exact_probability_is_that_of_both_signs():
    found = [transfer.exact_probability(6, n) for n in (2, 5, 10, 20)]
    np.testing.assert_allclose(found, [0.236, 0.760, 0.970, 1.000], atol=6e-4)
    balances = Dyck(4).downstream_inputs().answers
    both = [a * b < 0 for a, b in itertools.product(balances, repeat=2)]
    assert transfer.exact_probability(4, 2) == pytest.approx(np.mean(both))


def test_solution_1_transfers_as_often_as_predicted_and_the_kinked_neurons_never():
    answers = GIVEN.downstream.answers
    for name, probability in (
        ("transferable", transfer.exact_probability(4, 5)),
        ("kinked", 0),
    ):
        features = run.read(getattr(solutions, name)(4), GIVEN)
        found = transfer.from_samples(features, answers, num_samples=5, num_draws=2000, seed=0)
        assert found.share_exact == pytest.approx(probability, abs=0.04)
        best = transfer.best_error(features, answers)
        assert best == pytest.approx(0 if name == "transferable" else 0.0878, abs=1e-4)
        assert found.median >= best - 1e-12
