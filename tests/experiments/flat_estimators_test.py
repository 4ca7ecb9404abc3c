"""Trials of trace estimators: exact values and prices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import Hessian
from el_jax.types import Estimate
from experiments.flat_estimators import network, run
from experiments.flat_estimators.estimators import ESTIMATORS

TRIALS = 40


@pytest.fixture(scope="module")
def given():
    return run.stages(0, 50)["saturated"]


@pytest.fixture(scope="module")
def exact(given):
    return network.exact_traces(given)


def test_exact_traces_are_those_of_the_dense_hessian(given, exact):
    def trace(params):
        loss = lambda p: network.divergence(p, given.problem)  # noqa: E731
        return jnp.trace(Hessian(loss, params).dense())

    hessian, before = map(jax.jit(trace), (given.params, given.other))
    assert exact.hessian == pytest.approx(float(hessian), rel=1e-3)
    assert exact.difference == pytest.approx(float(hessian - before), rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_is_right_on_average(name, given, exact):
    numbers = run.of_estimator(name, "x", given, exact, jax.random.key(1), TRIALS).numbers
    assert abs(numbers["bias"]) < 4 * numbers["spread"] / TRIALS**0.5
    assert numbers["within_3"] > 0.9


def test_quality_of_made_up_trials():
    rng = np.random.default_rng(0)
    sems = np.full(20_000, 0.5)
    found = Estimate(2 + 0.5 * rng.standard_normal(20_000), sems)
    numbers = run.quality(found, 2.0, ESTIMATORS["Hutchinson"]._replace(freedom=10**6))
    assert numbers["coverage"] == pytest.approx(0.95, abs=0.01)
    assert numbers["within_3"] == pytest.approx(0.9973, abs=0.002)
    assert numbers["stated"] == pytest.approx(1, abs=0.02)
    assert numbers["error_at_cost"] == pytest.approx(0.25, abs=0.01)
    assert numbers["spread"] == pytest.approx(0.25, abs=0.01)
    dear = ESTIMATORS["Hutchinson"]._replace(price=4 * ESTIMATORS["Hutchinson"].price)
    assert run.quality(found, 2.0, dear)["error_at_cost"] == pytest.approx(0.5, abs=0.02)


def test_estimators_of_one_value_have_one_price():
    prices = [ESTIMATORS[name].price for name in ("Hutchinson", "Hutch++", "XTrace")]
    assert max(prices) / min(prices) < 1.03
    estimated = {each.exact for each in ESTIMATORS.values()}
    assert estimated == {*network.Exact._fields} - {"divergence"}
