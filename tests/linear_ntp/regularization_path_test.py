import numpy as np
import pytest

from el_jax.linear_ntp import (
    NTPProblem,
    gradient,
    leaked_mass,
    orthonormal_problem,
    random_problem,
    regularization_path,
)

PROBLEM = random_problem(20, 24, 8, 3, seed=3)


def test_ridge_minimisers_are_stationary_and_have_the_published_errors():
    lams = [1e-2, 1e-3, 1e-4, 1e-5]
    path = regularization_path(PROBLEM, ridge=lams)
    for lam, W in zip(lams, path.decoders, strict=True):
        assert np.linalg.norm(gradient(PROBLEM, W) + lam * W) < 1e-8 * lam * np.linalg.norm(W)
    assert (path.stationarity < 1e-9).all()
    np.testing.assert_allclose(path.metrics["finite_error"], [0.62, 0.27, 0.062, 0.0098], rtol=0.01)


def test_ball_and_ridge_trace_one_curve():
    balls = regularization_path(PROBLEM, radius=[2.0, 8.0])
    np.testing.assert_allclose(balls.metrics["norm"], [2, 8], rtol=1e-8)
    ridge = regularization_path(PROBLEM, ridge=balls.ridge.tolist())
    np.testing.assert_allclose(balls.decoders, ridge.decoders, atol=1e-6)


def test_path_aligns_with_the_max_margin_matrix_and_its_leak_is_bounded():
    problem = orthonormal_problem(4, 4, 5, 2, seed=1)
    W_mm = (problem.support - problem.support.mean(axis=0)) @ problem.embeddings.T
    lams = [1e-2, 1e-4, 1e-6, 1e-8]
    path = regularization_path(problem, ridge=lams, w_mm={"frobenius": W_mm})
    assert (np.diff(path.metrics["cosine_frobenius"]) > 0).all()
    assert path.metrics["cosine_across_frobenius"][-1] > 0.999
    assert (np.diff(path.metrics["finite_error"]) < 0).all()
    assert path.metrics["finite_error"][-1] < 1e-5
    for lam, W in zip(lams, path.decoders, strict=True):
        assert leaked_mass(problem, W) <= lam * np.sum(W * W_mm) * (1 + 1e-9)


def test_a_ball_with_the_minimiser_inside_does_not_bind():
    # one embedding with two next tokens and two supports: inseparable, so CE has a minimiser
    twins = NTPProblem(
        [[1.0, -1.0, 1.0]], [0.4, 0.4, 0.2], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    )
    path = regularization_path(twins, radius=[0.1, 50.0])
    assert path.metrics["norm"][0] == pytest.approx(0.1, rel=1e-8)
    assert path.ridge[1] < 1e-9
    assert 0.1 < path.metrics["norm"][1] <= 50


@pytest.mark.parametrize(
    "arguments", [{}, {"ridge": [1.0], "radius": [1.0]}, {"ridge": []}, {"radius": [-1.0]}]
)
def test_one_kind_of_positive_numbers_is_asked_for(arguments):
    with pytest.raises(ValueError, match="must give one, positive numbers"):
        regularization_path(PROBLEM, **arguments)
