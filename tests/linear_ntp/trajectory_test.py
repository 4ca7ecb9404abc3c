"""Methods compared with loops in NumPy, and long runs with the predictions of theory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax import linear_ntp as ntp
from el_jax.linear_ntp import (
    DIRECTIONS,
    Adam,
    NTPProblem,
    data_subspace,
    decoder_metrics,
    excess_loss,
    finite_component,
    fit_rate,
    gradient,
    leaked_mass,
    log_spaced_marks,
    max_margin as solve,
    one_hot_problem,
    orthonormal_problem,
    random_problem,
    residual,
    run_trajectory,
    smoothness_bound,
    top_curvature,
)
from el_jax.linear_ntp.theory.directions import newton_schulz, polar_factor


def max_margin(problem):
    """The max-margin matrix in closed form, for orthonormal embeddings."""
    support = problem.support
    return (support - support.mean(axis=0)) @ problem.embeddings.T


def polar(g):
    left, values, right = np.linalg.svd(g)
    return sum(
        np.outer(left[:, i], right[i]) for i, v in enumerate(values) if v > 1e-12 * values[0]
    )


def greedy(g):
    return np.where(np.abs(g) == np.abs(g).max(), g, 0)


# the step of each memoryless method at step size 1, from the problem, W and the gradient
RULES = {
    "gd": lambda problem, W, g: g,
    "ngd": lambda problem, W, g: g / np.linalg.norm(g),
    "sign": lambda problem, W, g: np.sign(g),
    "sign_scaled": lambda problem, W, g: np.abs(g).sum() * np.sign(g),
    "coordinate": lambda problem, W, g: greedy(g),
    "spectral": lambda problem, W, g: polar(g),
    "spectral_scaled": lambda problem, W, g: np.linalg.norm(g, "nuc") * polar(g),
    "polyak": lambda problem, W, g: g * excess_loss(problem, W).total / np.sum(g**2),
    "loss_normalized": lambda problem, W, g: g / excess_loss(problem, W).total,
    "leak_normalized": lambda problem, W, g: g / leaked_mass(problem, W),
}
SMALL = random_problem(4, 3, 5, 2, seed=1)
START = np.random.default_rng(0).standard_normal((5, 3))


@pytest.mark.parametrize("name", RULES)
def test_memoryless_methods_follow_their_rule(name):
    W = START
    for k in range(4):
        W = W - 0.3 * (k + 1) ** -0.5 * RULES[name](SMALL, W, gradient(SMALL, W))
    run = run_trajectory(SMALL, name, 0.3, 4, initial=START, decay=0.5, marks=[4])
    np.testing.assert_allclose(run.final, W, rtol=1e-9, atol=1e-12)


def test_split_descent_follows_its_rule():
    W = START
    for _ in range(4):
        g = gradient(SMALL, W)
        along = data_subspace(SMALL).project(g)
        across = g - along
        W = W - along / top_curvature(SMALL) - 0.3 * across / np.linalg.norm(across)
    run = run_trajectory(SMALL, "split_ngd", 0.3, 4, initial=START, marks=[4])
    np.testing.assert_allclose(run.final, W, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "shape", "beta"),
    [
        ("momentum", lambda m: m, 0.9),
        ("normalized_momentum", lambda m: m / np.linalg.norm(m), 0.9),
        ("signum", np.sign, 0.9),
        ("muon", polar, 0.95),
    ],
)
def test_methods_with_momentum_follow_their_rule(name, shape, beta):
    W, mean = START, 0.0
    for _ in range(4):
        mean = beta * mean + (1 - beta) * gradient(SMALL, W)
        W = W - 0.3 * shape(mean)
    run = run_trajectory(SMALL, name, 0.3, 4, initial=START, marks=[4])
    np.testing.assert_allclose(run.final, W, rtol=1e-9, atol=1e-12)


def test_decoupled_decay_takes_its_share_of_the_step_away():
    W = START
    for k in range(4):
        size = 0.3 * (k + 1) ** -0.5
        W = W - size * 0.7 * W - size * np.sign(gradient(SMALL, W))
    run = run_trajectory(
        SMALL, "sign", 0.3, 4, initial=START, decay=0.5, weight_decay=0.7, marks=[4]
    )
    np.testing.assert_allclose(run.final, W, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 1e-2])
def test_adam_follows_its_rule(epsilon):
    W, mean, square = START, 0.0, 0.0
    for k in range(1, 6):
        g = gradient(SMALL, W)
        mean, square = 0.9 * mean + 0.1 * g, 0.99 * square + 0.01 * g**2
        root = np.sqrt(square / (1 - 0.99**k)) + epsilon
        W = W - 0.3 * mean / (1 - 0.9**k) / root
    run = run_trajectory(SMALL, Adam(epsilon=epsilon), 0.3, 5, initial=START, marks=[5])
    np.testing.assert_allclose(run.final, W, rtol=1e-9)


def test_every_method_is_tested_against_its_rule():
    others = {"momentum", "normalized_momentum", "signum", "muon", "adam", "split_ngd"}
    assert set(DIRECTIONS) == set(RULES) | others | {"muon_newton_schulz"}


@pytest.mark.parametrize("shape", [(3, 6), (6, 3)])
def test_newton_schulz_brings_singular_values_near_one(shape):
    g = np.random.default_rng(0).standard_normal(shape)
    with jax.enable_x64(True):
        near = np.asarray(newton_schulz(jnp.asarray(g)))
    values = np.linalg.svd(near)[1]
    assert (abs(values - 0.95) < 0.3).all()
    np.testing.assert_allclose((near @ g.T), (near @ g.T).T, atol=1e-12)  # it has U and V of g


def test_polar_factor_leaves_out_the_direction_in_which_gradients_vanish():
    g = np.random.default_rng(0).standard_normal((3, 6))
    g -= g.mean(axis=0)
    with jax.enable_x64(True):
        factor = np.asarray(polar_factor(jnp.asarray(g)))
    np.testing.assert_allclose(factor, polar(g), atol=1e-12)
    np.testing.assert_allclose(factor.sum(axis=0), 0, atol=1e-12)


def test_a_coordinate_without_gradient_stays_put_under_adam():
    problem = NTPProblem([[1.0, 2.0], [0.0, 0.0]], [0.5, 0.5], [[1, 0], [0, 1], [0, 0]])
    final = run_trajectory(problem, "adam", 0.1, 20, marks=[20]).final
    assert not final[:, 1].any()
    assert final[:, 0].all()


@pytest.mark.parametrize("method", ["polyak", "loss_normalized", "leak_normalized"])
def test_steps_stay_finite_when_the_loss_underflows(method):
    one_hot = NTPProblem(np.eye(2), [0.5, 0.5], np.eye(2))
    run = run_trajectory(one_hot, method, 3.0, 1500, marks=[100, 1500])
    assert np.isfinite(run.final).all()
    # along the max-margin direction the gradient is the leak: its squares underflow
    leaks, slopes = run.metrics["log_leaked_mass"], run.metrics["gradient_norm"]
    assert -700 < leaks[0] < -100
    np.testing.assert_allclose(np.log(slopes[0]), leaks[0], atol=1)
    assert np.isfinite(run.metrics["effective_step_size"][0])


def test_runs_broadcast_over_starts_and_step_sizes():
    starts = np.stack([START, -START, 0 * START])[:, None]
    sizes = np.array([0.1, 0.5])
    runs = run_trajectory(SMALL, "gd", sizes, 7, initial=starts, marks=[0, 3, 7])
    assert runs.final.shape == (3, 2, 5, 3)
    assert runs.metrics["norm"].shape == (3, 2, 3)
    alone = run_trajectory(SMALL, "gd", 0.5, 7, initial=-START, marks=[0, 3, 7])
    np.testing.assert_allclose(runs.final[1, 1], alone.final, rtol=1e-12)
    for name, values in alone.metrics.items():
        np.testing.assert_allclose(
            runs.metrics[name][1, 1], values, rtol=1e-9, atol=1e-14, err_msg=name
        )


def test_the_final_decoder_is_that_of_the_last_step_wherever_the_marks_end():
    ends = [run_trajectory(SMALL, "gd", 0.5, 9, marks=marks).final for marks in ([2, 4], [9])]
    np.testing.assert_array_equal(*ends)


def test_metrics_are_those_of_the_decoder():
    problem = orthonormal_problem(3, 4, 5, 2, seed=3)
    W = np.random.default_rng(1).standard_normal((5, 4))
    reference = max_margin(problem)
    along = data_subspace(problem).project(W)
    across, finite = W - along, finite_component(problem)
    logits = across @ problem.embeddings
    margin = min(logits[s, j].min() - logits[~s, j].max() for j, s in enumerate(problem.support.T))
    g = gradient(problem, W)
    expected = {
        "excess_loss": excess_loss(problem, W).total,
        "leak_loss": excess_loss(problem, W).leak,
        "in_support_loss": excess_loss(problem, W).in_support,
        "log_leaked_mass": np.log(leaked_mass(problem, W)),
        "gradient_norm": np.linalg.norm(g),
        "norm": np.linalg.norm(W),
        "norm_along": np.linalg.norm(along),
        "norm_across": np.linalg.norm(across),
        "finite_error": np.linalg.norm(along - finite),
        "margin_bound": np.linalg.norm(g - data_subspace(problem).project(g))
        / leaked_mass(problem, W),
        "margin_frobenius": margin / np.linalg.norm(across),
        "margin_max": margin / np.abs(across).max(),
        "margin_spectral": margin / np.linalg.norm(across, 2),
        "margin_ratio_max": margin / np.abs(across).max() * np.abs(reference).max(),
    }
    descent = data_subspace(problem).project(g) - g
    compared = {"": W, "minus_finite_": W - finite, "across_": across, "descent_": descent}
    for name, matrix in compared.items():
        expected[f"cosine_{name}max"] = np.sum(matrix * reference) / (
            np.linalg.norm(matrix) * np.linalg.norm(reference)
        )
    metrics = decoder_metrics(problem, W, w_mm={"max": reference})
    assert metrics.pop("support_spread") < 1e-12
    assert set(metrics) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-9, err_msg=name)


def test_margin_interval_holds_the_margin_for_any_decoder():
    problem = orthonormal_problem(4, 4, 5, 2)
    gamma = 1 / np.linalg.norm(max_margin(problem))
    decoders = (
        np.random.default_rng(0).standard_normal((40, 5, 4)) * np.logspace(-2, 2, 40)[:, None, None]
    )
    metrics = decoder_metrics(problem, decoders)
    assert (metrics["margin_frobenius"] <= gamma).all()
    assert (metrics["margin_bound"] >= gamma * (1 - 1e-9)).all()
    at_optimum = decoder_metrics(problem, 5 * max_margin(problem))
    assert at_optimum["margin_frobenius"] == pytest.approx(gamma, rel=1e-12)


def test_a_nuclear_reference_has_its_own_metrics():
    problem = orthonormal_problem(4, 4, 5, 2)
    W = ntp.max_margin(problem, "nuclear").w
    metrics = decoder_metrics(problem, 3 * W, w_mm={"nuclear": W})
    assert metrics["margin_ratio_nuclear"] == pytest.approx(1, rel=1e-9)
    assert metrics["margin_nuclear"] == pytest.approx(1 / np.linalg.norm(W, "nuc"), rel=1e-9)


def test_gradient_descent_has_the_predicted_asymptotics():
    problem = orthonormal_problem(4, 4, 5, 2, seed=1)
    W_mm = max_margin(problem)
    eta = 1 / smoothness_bound(problem)
    run = run_trajectory(problem, "gd", eta, 30_000, num_marks=60, w_mm={"frobenius": W_mm})
    k, metrics = run.steps, run.metrics
    assert (np.diff(metrics["excess_loss"]) < 0).all()
    scaled = eta * k[-1] * metrics["excess_loss"][-1] / np.sum(W_mm**2)
    assert 0.95 < scaled < 1.05
    log_k = np.log(np.maximum(k, 0.5))
    tail = (np.log(1e3), np.log(3e4))
    assert fit_rate(log_k, np.log(metrics["excess_loss"]), window=tail).slope == pytest.approx(
        -1, abs=0.05
    )
    assert fit_rate(log_k, np.log(metrics["finite_error"]), window=tail).slope == pytest.approx(
        -1, abs=0.05
    )
    growth = fit_rate(log_k, metrics["norm_across"], window=tail).slope
    assert growth == pytest.approx(np.linalg.norm(W_mm), rel=0.02)
    assert metrics["cosine_across_frobenius"][-1] > 0.998
    assert metrics["cosine_descent_frobenius"][-1] > 0.9999
    assert metrics["margin_bound"][-1] * np.linalg.norm(W_mm) == pytest.approx(1, abs=0.01)
    # η k R tends to the dual solution, S_j / V off the support
    dual = -eta * k[-1] * residual(problem, run.final)[~problem.support]
    np.testing.assert_allclose(dual, 2 / 5, rtol=0.05)


@pytest.mark.parametrize("alpha", [0.3, 0.9])
def test_the_part_across_the_subspace_is_turned_to_the_max_margin_without_loss(alpha):
    """Lemma 5 for directions near and far, at the size from which its proof holds."""
    problem = random_problem(6, 8, 4, 2)
    subspace, finite, w_mm = data_subspace(problem), finite_component(problem), solve(problem).w
    length = np.linalg.norm(w_mm)
    rarest = (problem.context_probs * problem.next_token_probs)[problem.support].min()
    size = np.log(2 / rarest * problem.vocab_size) + 4 * np.linalg.norm(finite)
    radius = length / alpha * size

    def excess(direction, factor):
        across = factor * radius * direction / np.linalg.norm(direction)
        return excess_loss(problem, finite + across).total

    turned, draws = excess(w_mm, 1 + alpha), np.random.default_rng(0).normal(size=(20, 4, 8))
    for noise in (0.0, 0.01, 0.1, 1.0, 100.0):
        for draw in draws:
            across = draw - subspace.project(draw)
            other = w_mm / length + noise * across / np.linalg.norm(across)
            assert 0 < turned <= excess(other, 1)
            assert noise < 100 or excess(other, 1 + alpha) > excess(w_mm, 1)  # not so of far ones


def test_normalised_descent_is_pinned_at_the_edge_of_stability():
    problem = random_problem(20, 24, 8, 3, seed=3)
    eta, curvature = 0.2, top_curvature(problem)
    metrics = run_trajectory(problem, "ngd", eta, 4000, marks=[3000, 3500, 4000]).metrics
    assert metrics["effective_step_size"] == pytest.approx(2 / curvature, rel=0.1)
    assert metrics["gradient_norm"] == pytest.approx(eta * curvature / 2, rel=0.1)
    assert metrics["finite_error"] == pytest.approx(eta / 2, rel=0.2)


def test_splitting_the_step_brings_back_the_rate_of_separable_data():
    problem = orthonormal_problem(4, 4, 5, 2, seed=1)
    W_mm = max_margin(problem)
    run = run_trajectory(problem, "split_ngd", 1.0, 6000, num_marks=30, w_mm={"frobenius": W_mm})
    metrics = run.metrics
    assert all(np.isfinite(values[1:]).all() for values in metrics.values())
    assert metrics["log_leaked_mass"][-1] < -1000  # the leak itself is below the smallest float
    late = run.steps >= 100  # after one step the gap is only rounding, of either sign
    gap = 1 - metrics["margin_ratio_frobenius"][late]
    window = (np.log(100), np.log(3000))
    rate = fit_rate(np.log(run.steps[late]), np.log(gap), window=window)
    assert rate.slope == pytest.approx(-1, abs=0.1)


def test_normalised_descent_reaches_the_margin_fast_when_nothing_is_finite():
    problem = one_hot_problem(6, 8, 4, seed=2)
    metrics = run_trajectory(problem, "ngd", 1.0, 3000, decay=0.5, marks=[300, 3000]).metrics
    width = metrics["margin_bound"] / metrics["margin_frobenius"] - 1
    assert 0 < width[1] < 0.3 * width[0] < 0.1


def test_reference_run_has_its_published_loss():
    """50 contexts, 60 dimensions, 10 tokens, 6 of them in each support: Appendix A.2's shape."""
    problem = random_problem(50, 60, 10, 6)
    initial = np.random.default_rng(0).standard_normal((10, 60)) / np.sqrt(60)
    metrics = run_trajectory(problem, "gd", 0.5, 10_000, initial=initial, marks=[10_000]).metrics
    assert metrics["excess_loss"][0] == pytest.approx(1.97e-3, rel=0.03)
    assert metrics["norm"][0] == pytest.approx(15.2, rel=0.02)


def test_marks_are_evenly_spaced_in_log_steps():
    np.testing.assert_array_equal(log_spaced_marks(1000, 4), [0, 1, 10, 100, 1000])
    assert len(log_spaced_marks(10, 50)) == 11


@pytest.mark.parametrize(
    ("method", "rate", "steps"),
    [
        ("leak_normalized", 100, 2),
        ("leak_normalized", 10, 2),
        ("leak_normalized", 1, 16),
        ("leak_normalized", 0.1, 157),
        ("gd", 100, 308),
    ],
)
def test_rare_example_is_separated_after_as_many_steps_as_tyurin_prints(method, rate, steps):
    """Tyurin 2024 (arXiv 2412.08424), Table 1: one example against 999 of the other class.

    The paper's θ is the difference of our two rows; a step moves this difference twice as far.
    """
    embeddings = np.array([[0.5, -0.5], [-1.0, -1.0]])
    problem = NTPProblem(embeddings, [1e-3, 1 - 1e-3], np.eye(2))

    def separated(num_steps):
        W = run_trajectory(problem, method, rate / 2, num_steps, marks=[num_steps]).final
        return ((W[0] - W[1]) @ embeddings * [1, -1] > 0).all()

    assert separated(steps)
    assert not separated(steps - 1)


@pytest.mark.parametrize("batch", [1, 5])
def test_drawn_gradients_have_the_mean_and_the_spread_of_pairs(batch):
    W, n = START, 20_000
    start = np.broadcast_to(W, (n, *W.shape))
    ran = run_trajectory(SMALL, "gd", 1.0, 1, initial=start, batch=batch, seed=3, marks=[1])
    drawn = W - ran.final
    logits = W @ SMALL.embeddings
    probs = np.exp(logits) / np.exp(logits).sum(0)
    of_pairs = np.einsum("vmu,dm->vmud", probs[:, :, None] - np.eye(5)[:, None], SMALL.embeddings)
    weights = SMALL.context_probs[:, None] * SMALL.next_token_probs.T  # [m, u]: u follows m
    mean = np.einsum("mu,vmud->vd", weights, of_pairs)
    np.testing.assert_allclose(mean, gradient(SMALL, W), atol=1e-12)
    variance = np.einsum("mu,vmud->vd", weights, of_pairs**2) - mean**2
    errors = (drawn.mean(0) - mean) / np.sqrt(variance / batch / n)
    assert np.abs(errors).max() < 4.5
    np.testing.assert_allclose(drawn.var(0), variance / batch, rtol=0.06, atol=1e-4)


def test_drawn_steps_differ_by_run_and_seed_and_come_again():
    def finals(seed):
        start = np.broadcast_to(START, (2, *START.shape))
        return run_trajectory(SMALL, "adam", 0.1, 3, initial=start, batch=2, seed=seed).final

    one, again, other = finals(0), finals(0), finals(1)
    np.testing.assert_array_equal(one, again)
    assert np.abs(one[0] - one[1]).max() > 1e-3
    assert np.abs(one - other).max() > 1e-3
