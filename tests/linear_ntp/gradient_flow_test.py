import numpy as np
import pytest

from el_jax.linear_ntp import gradient_flow, orthonormal_problem, random_problem, run_trajectory


def test_flow_is_the_limit_of_small_steps():
    problem = random_problem(4, 6, 4, 2, seed=1)
    start = np.random.default_rng(0).standard_normal((4, 6))
    flow = gradient_flow(problem, np.array([0.0, 5.0]), initial=start)
    steps = run_trajectory(problem, "gd", 1e-3, 5000, initial=start, marks=[5000])
    np.testing.assert_allclose(flow.final, steps.final, atol=2e-3)
    assert flow.metrics["norm"][0] == pytest.approx(np.linalg.norm(start))


def test_flow_has_the_predicted_asymptotics_at_times_no_steps_reach():
    problem = orthonormal_problem(3, 3, 4, 2, seed=1)
    W_mm = (problem.support - problem.support.mean(axis=0)) @ problem.embeddings.T
    times = np.array([1e6, 1e9, 1e12])
    flow = gradient_flow(problem, times, w_mm={"frobenius": W_mm})
    np.testing.assert_allclose(times * flow.metrics["excess_loss"] / np.sum(W_mm**2), 1, rtol=1e-3)
    assert (np.diff(flow.metrics["cosine_frobenius"]) > 0).all()
    # (1 - margin ratio) log t is bounded: the margin of P_⊥W tends to the optimum
    assert flow.metrics["margin_ratio_frobenius"][-1] > 0.99
    assert flow.metrics["finite_error"][-1] < 1e-5
