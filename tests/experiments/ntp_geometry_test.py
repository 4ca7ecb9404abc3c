"""Geometry, convergence and rates: the computations of run.py on cases with a known answer."""

import dataclasses

import numpy as np
import pytest

from el_jax.linear_ntp import figure1_problem, finite_component, random_problem
from el_jax.linear_ntp.solvers.max_margin import MaxMargin, max_margin
from experiments.ntp_convergence import run as convergence_run
from experiments.ntp_figure1 import run as figure1_run
from experiments.ntp_rates import run as rates_run

# ---- ntp_figure1 ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def substitute():
    problem = figure1_problem()
    return problem, max_margin(problem).w, finite_component(problem)


def test_the_substitute_has_the_geometry_of_the_paper(substitute):
    numbers = figure1_run.geometry(*substitute)
    assert numbers["twins_coincide"] == numbers["words_in_cone"] == 1
    assert numbers["twin_distance_max_margin"] < 1e-9 < 0.1 < numbers["twin_distance_finite"]
    assert numbers["lone_word_cosine"] == pytest.approx(1, abs=1e-9)
    assert numbers["inner_product"] < 1e-9
    assert "wider_is_longer" not in numbers  # its three cones are equally wide


def test_other_decoders_do_not(substitute):
    problem, w_mm, finite = substitute
    swapped = figure1_run.geometry(problem, w_mm[[1, 0, 2, 4, 3]], finite)
    assert swapped["twins_coincide"] == swapped["words_in_cone"] == 0
    # word 4 against h1 in place of h2 + h3: both coefficients are 1, unit vectors at 60 degrees
    opposite = w_mm.copy()
    opposite[3] = problem.embeddings[:, 0]
    found = figure1_run.geometry(problem, opposite, finite)
    assert found["least_cone_coefficient"] == pytest.approx(-1)


def test_random_embeddings_positively_span_the_plane():
    support = figure1_problem().support
    for seed in range(4):
        problem = figure1_run.random_like(support, seed, circle=True)
        np.testing.assert_array_equal(problem.support, support)
        np.testing.assert_allclose(np.linalg.norm(problem.embeddings, axis=0), 1)
        turns = np.sort(np.arctan2(problem.embeddings[1], problem.embeddings[0]))
        assert np.diff(turns, append=turns[0] + 2 * np.pi).max() < np.pi


# ---- ntp_convergence --------------------------------------------------------------------------


def test_counts_keep_the_supports_and_sum_to_the_samples():
    base = random_problem(**convergence_run.SHAPE, seed=0)
    problem = convergence_run.counted(base, 0)
    np.testing.assert_array_equal(problem.support, base.support)
    counts = problem.next_token_probs * 100
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    # a mean of 50 x 6 binomial deviations of at most .05, with the floor of one sample each
    difference = np.abs(problem.next_token_probs - base.next_token_probs)[base.support].mean()
    assert 0.005 < difference < 0.05


# ---- ntp_rates --------------------------------------------------------------------------------


def margin_of(gamma: float) -> MaxMargin:
    found = max_margin(random_problem(3, 4, 3, 1, seed=0))
    return dataclasses.replace(found, margin=gamma)


def test_numbers_that_follow_the_predictions_have_no_error():
    steps, gamma, step_size = np.geomspace(10, 1e6, 61), 0.25, 0.5
    log = np.log(steps)
    metrics = {
        "excess_loss": 1 / (gamma**2 * step_size * steps),
        "finite_error": 7 / steps,
        "norm_across": 3 + log / gamma,
        "cosine_frobenius": 1 - 2 / log**2,
        "margin_ratio_frobenius": 1 - 3 / log,
        "log_leaked_mass": -log,
        "gradient_norm": 1.01 * gamma / steps,
    }
    numbers, curves = rates_run.asymptotics(steps, metrics, margin_of(gamma), step_size)
    for name in ("loss_constant_error", "loss_slope_error", "finite_slope_error"):
        assert numbers[name] == pytest.approx(0, abs=1e-9)
    assert numbers["growth_slope"] == pytest.approx(1)
    assert numbers["growth_slope_spread"] == pytest.approx(0, abs=1e-9)
    assert numbers["direction_product"] == pytest.approx(2)
    assert numbers["margin_product_over_decade"] == pytest.approx(1)
    assert numbers["certificate_gap"] == pytest.approx(0.01)
    np.testing.assert_allclose(curves["loss_constant"], 1)
    slower = metrics | {"margin_ratio_frobenius": 1 - 3 / np.sqrt(log)}
    grown, _ = rates_run.asymptotics(steps, slower, margin_of(gamma), step_size)
    assert grown["margin_product_over_decade"] == pytest.approx(np.sqrt(6 / 5))


def test_the_floor_of_normalised_descent_is_relative_to_its_prediction():
    metrics = {
        "gradient_norm": np.array([1.0, 0.3]),
        "finite_error": np.array([1.0, 0.1]),
        "excess_loss": np.array([1.0, 0.015]),
        "effective_step_size": np.array([0.1, 2 / 3]),
        "margin_ratio_frobenius": np.array([0.0, 0.6]),
    }
    numbers, _ = rates_run.stalled(metrics, step_size=0.2, curvature=3.0)
    ratios = {name: numbers[f"{name}_ratio"] for name in ("gradient", "finite", "loss", "rate")}
    assert ratios == {name: pytest.approx(1) for name in ratios}
    assert numbers["margin_gap"] == pytest.approx(0.4)


def test_a_margin_gap_of_one_over_k_has_slope_minus_one():
    steps = np.geomspace(1, 1e4, 41)
    metrics = {
        "margin_ratio_frobenius": 1 - 5 / steps,
        "log_leaked_mass": -steps,
        "finite_error": 1 / steps,
    }
    numbers, _ = rates_run.margin_decay(steps, metrics)
    assert numbers["margin_slope"] == pytest.approx(-1)
    assert numbers["margin_constant"] == pytest.approx(5)
