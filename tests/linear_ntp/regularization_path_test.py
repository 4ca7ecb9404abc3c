"""The path of Theorem 1: its definition, a closed form, the two limits, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from el_jax.linear_ntp import (
    NTPProblem,
    antipodal_problem,
    cross_entropy,
    facet_problem,
    frank_wolfe_gap,
    gradient,
    leaked_mass,
    max_margin,
    orthonormal_problem,
    random_problem,
    regularization_path,
)
from el_jax.linear_ntp.theory.directions import polar_factor, unit
from el_jax.linear_ntp.theory.norms import matrix_norm
from el_jax.linear_ntp.theory.objective import hessian

PROBLEM = random_problem(20, 24, 8, 3, seed=3)
SMALL = random_problem(4, 5, 4, 2, seed=1)


def test_the_slope_of_the_penalised_loss_is_zero_in_every_direction():
    def loss(W, lam):
        return cross_entropy(SMALL, W) + lam / 2 * np.sum(W**2)

    path = regularization_path(SMALL, ridge=[1e-1, 1e-3])
    for D in np.random.default_rng(0).standard_normal((20, 4, 5)):
        for lam, W in zip(path.ridge, path.decoders, strict=True):
            assert abs(loss(W + 1e-4 * D, lam) - loss(W - 1e-4 * D, lam)) / 2e-4 < 1e-8
            assert loss(W + 1e-3 * D, lam) > loss(W, lam)


def test_stationarity_is_what_numpy_says_down_to_a_ridge_of_1e_10():
    path = regularization_path(PROBLEM, ridge=10.0 ** -np.arange(2, 11))
    for lam, W, error in zip(path.ridge, path.decoders, path.stationarity, strict=True):
        softmax = np.exp(W @ PROBLEM.embeddings)
        off = softmax / softmax.sum(axis=0) - PROBLEM.next_token_probs
        slope = off @ PROBLEM.embeddings.T / PROBLEM.num_contexts + lam * W
        relative = np.linalg.norm(slope) / (lam * np.linalg.norm(W))
        assert error / 4 < relative < error * 4  # both gradients are rounded
    assert path.converged.all()
    independent = [0.62, 0.27, 0.062, 0.0098]  # from L-BFGS in another program
    np.testing.assert_allclose(path.metrics["finite_error"][:4], independent, rtol=0.01)


def test_two_orthonormal_contexts_follow_an_equation_in_one_unknown():
    problem = NTPProblem(np.eye(2), [0.5, 0.5], np.eye(2))  # each followed by a word of its own
    path = regularization_path(problem, ridge=[1.0, 1e-3, 1e-9])
    for lam, W in zip(path.ridge, path.decoders, strict=True):
        x = brentq(lambda x, lam=lam: lam * x - 0.5 / (1 + np.exp(2 * x)), 0, 50, xtol=1e-14)
        np.testing.assert_allclose(W, x * np.array([[1, -1], [-1, 1]]), rtol=1e-10)


@pytest.mark.parametrize("radii", [[20.0, 0.1, 40.0, 20.0], np.linspace(10.0, 110.0, 18)])
def test_ball_and_ridge_are_one_curve_in_the_order_asked_for(radii):
    far = max(radii) > 40
    problem = orthonormal_problem(20, 24, 8, 3, seed=300) if far else PROBLEM
    balls = regularization_path(problem, radius=radii)
    np.testing.assert_allclose(balls.metrics["norm"], radii, rtol=1e-8)
    ridge = regularization_path(problem, ridge=balls.ridge)
    np.testing.assert_allclose(balls.decoders, ridge.decoders, atol=1e-5)
    for B, W in zip(radii, balls.decoders, strict=True):
        slope = np.linalg.norm(gradient(problem, W))
        assert frank_wolfe_gap(problem, W, "frobenius", B) < 1e-10 * B * slope


@pytest.mark.parametrize(
    "problem", [orthonormal_problem(4, 4, 5, 2, seed=1), facet_problem(12, 3, 6, 3)], ids=str
)
def test_the_direction_tends_to_w_mm_and_the_finite_part_to_w_star(problem):
    W_mm = max_margin(problem).w
    path = regularization_path(problem, ridge=10.0 ** -np.arange(2, 11), w_mm={"frobenius": W_mm})
    assert (np.diff(path.metrics["cosine_frobenius"]) > 0).all()
    assert path.metrics["cosine_across_frobenius"][-1] > 0.995
    assert (np.diff(path.metrics["finite_error"]) < 0).all()
    assert path.metrics["finite_error"][-1] < 1e-3 * path.metrics["finite_error"][0]
    for lam, W in zip(path.ridge, path.decoders, strict=True):
        assert leaked_mass(problem, W) <= lam * np.sum(W * W_mm) * (1 + 1e-9)


def test_what_float64_or_the_data_do_not_allow_is_said():
    with pytest.warns(RuntimeWarning, match="1 of 2 path points miss tolerance=1e-06; at 1e-16"):
        path = regularization_path(PROBLEM, ridge=[1e-4, 1e-16])
    assert path.converged.tolist() == [True, False]
    with pytest.warns(RuntimeWarning, match=r"at 50 .* relative error of the radius 9\.5e-01"):
        inside = regularization_path(antipodal_problem(), radius=[0.1, 50.0])
    assert inside.converged.tolist() == [True, False]


def test_the_hessian_is_the_difference_of_gradients():
    W, D = np.random.default_rng(0).normal(size=(2, 4, 5))
    slope = (gradient(SMALL, W + 1e-5 * D) - gradient(SMALL, W - 1e-5 * D)) / 2e-5
    exact = np.einsum("vawb,wb->va", hessian(SMALL, W, SMALL.embeddings), D)
    np.testing.assert_allclose(exact, slope, atol=1e-9)


@pytest.mark.parametrize("one", [{}, {"ridge": [1.0], "radius": [1.0]}, {"ridge": []},
                                 {"ridge": [1.0, 0.0]}, {"radius": [-1.0]}])  # fmt: skip
def test_one_kind_of_positive_numbers_is_asked_for(one):
    with pytest.raises(ValueError, match="must be a list of positive finite numbers"):
        regularization_path(PROBLEM, **one)
    flat = NTPProblem([[0.0, 0.0]], [0.5, 0.5], np.eye(2))
    with pytest.raises(ValueError, match="whose cross-entropy has a slope at W = 0"):
        regularization_path(flat, ridge=[1.0])


@pytest.mark.parametrize("norm", ["frobenius", "max", "spectral"])
def test_the_gap_bounds_the_excess_over_every_matrix_of_the_ball(norm):
    rng = np.random.default_rng(0)
    W, others = np.split(rng.standard_normal((40, 8, 24)), [1])
    size = float(matrix_norm(W[0], norm))
    radius = 1.5 * size
    gap = frank_wolfe_gap(PROBLEM, W[0], norm, radius)
    inside = [radius * other / matrix_norm(other, norm) for other in others]
    slope = gradient(PROBLEM, W[0])
    assert gap >= max(np.sum(slope * (W[0] - other)) for other in inside)
    steepest = {"frobenius": unit, "max": np.sign, "spectral": polar_factor}[norm]
    with jax.enable_x64(True):
        corner = -radius * np.asarray(steepest(jnp.asarray(slope)))
    np.testing.assert_allclose(gap, np.sum(slope * (W[0] - corner)), rtol=1e-9)
    with pytest.raises(ValueError, match=r"^radius=\d.*: must be at least \d.*, the norm of W"):
        frank_wolfe_gap(PROBLEM, W[0], norm, size / 2)
