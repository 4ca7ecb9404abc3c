"""Trials of trace estimators: exact values, prices, and claims on made-up numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import dense_hessian, fisher_trace
from el_jax.types import Estimate
from experiments.flat_estimators import claims, network, plot, run
from experiments.flat_estimators.estimators import ESTIMATORS
from experiments.harness.claims import Verdict
from experiments.harness.tables import write_results
from tests.experiments.toys import results_of

TRIALS = 40


@pytest.fixture(scope="module")
def given():
    return run.stages(0, 50)[run.SATURATED]


@pytest.fixture(scope="module")
def exact(given):
    return network.exact_traces(given)


def test_the_world_is_written_out(given):
    problem = given.problem
    assert problem.tokens.shape == (27, network.LENGTH)
    assert problem.weights.sum() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(problem.truth.sum(axis=1), 1, atol=1e-5)
    one = network.logits(given.params, (problem.tokens[3], problem.places[3]))
    every = jax.vmap(network.logits, (None, 0))(given.params, problem.contexts)
    np.testing.assert_allclose(one, every[3], atol=1e-5)


def test_training_lowers_the_divergence():
    start, end = run.stages(0, 50).values()
    divergence = jax.jit(network.divergence)
    after = divergence(end.params, end.problem)
    assert 0 < after < divergence(start.params, start.problem)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, end.params, start.other))


def test_exact_traces_are_those_of_the_dense_hessian(given, exact):
    def trace(params):
        loss = lambda p: network.divergence(p, given.problem)  # noqa: E731
        return jnp.trace(dense_hessian(loss, params))

    hessian, before = map(jax.jit(trace), (given.params, given.other))
    assert exact.hessian == pytest.approx(float(hessian), rel=1e-3)
    assert exact.difference == pytest.approx(float(hessian - before), rel=1e-2)
    problem = given.problem
    labels = jnp.full(len(problem.weights), 1)
    one = fisher_trace(
        network.logits, given.params, problem.contexts, labels="data", observed=labels,
        weights=problem.weights * problem.truth[:, 1],
    )  # fmt: skip
    assert 0 < one.mean * (problem.weights @ problem.truth[:, 1]) < exact.empirical_fisher


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
    assert tuple(ESTIMATORS) == claims.ESTIMATORS
    estimated = {each.exact for each in ESTIMATORS.values()}
    assert estimated == {*network.Exact._fields} - {"divergence"}


# ---- claims and figure on made-up numbers --------------------------------------------------------

SEEDS = np.arange(4)
ERRORS = {"Hutchinson": 0.2, "Hutch++": 0.1, "XTrace": 0.05, "controlled": 0.18,
          "examples": 0.3}  # fmt: skip


def made_up(spoilt: dict[tuple[str, str], float] | None = None):
    """Results of estimators that are right about their errors; some of them spoilt."""
    table = {("start", "fisher_gap"): 0.3, ("saturated", "fisher_gap"): 0.005}
    for name in claims.ESTIMATORS:
        for stage in claims.STAGES:
            error = ERRORS.get(name, 0.2) / (20 if (name, stage) == ("controlled", "saturated")
                                             else 1)  # fmt: skip
            numbers = {"within_3": 0.995, "coverage": 0.95, "bias": 0.001}
            numbers |= {"error_at_cost": error, "log_error": np.log(error)}
            table |= {(f"{name}, {stage}", metric): value for metric, value in numbers.items()}
    noise = 1e-3 * np.array([0, 1, 1.5, 3])
    return results_of({
        key: value + noise * (2 if "controlled" in key[0] or "start" in key[0] else 1)
        for key, value in (table | (spoilt or {})).items()
    })  # fmt: skip


def verdicts(spoilt: dict[tuple[str, str], float] | None = None) -> dict[str, Verdict]:
    return {claim.text: claim.verdict for claim in claims.claims(made_up(spoilt))}


def test_all_claims_hold_of_estimators_that_are_right():
    found = verdicts()
    assert len(found) == 3 * len(ESTIMATORS) + 2 + 4 + 3
    assert set(found.values()) == {Verdict.HOLDS}


@pytest.mark.parametrize(
    ("key", "value", "start"),
    [
        (("XTrace, start", "within_3"), 0.9, "XTrace: within 3"),
        (("Hutch++, start", "coverage"), 0.8, "Hutch++: the stated"),
        (("scale-free, saturated", "bias"), 0.2, "scale-free: no bias"),
        (("saturated", "fisher_gap"), 0.3, "Near saturation the trace"),
        (("start", "fisher_gap"), 0.001, "... and at the start"),
        (("Hutch++, saturated", "log_error"), 1.0, "At equal cost Hutch++"),
        (("XTrace, start", "log_error"), 1.0, "At equal cost XTrace"),
        (("controlled, saturated", "log_error"), -1.7, "Near saturation the control"),
        (("controlled, start", "log_error"), -9.0, "... and away from it"),
        (("controlled examples, saturated", "log_error"), 1.0, "With drawn labels"),
    ],
)
def test_a_spoilt_number_fails_its_claim(key, value, start):
    failing = [text for text, verdict in verdicts({key: value}).items() if verdict is Verdict.FAILS]
    assert any(text.startswith(start) for text in failing)


def test_claims_on_nothing_are_inconclusive():
    assert {claim.verdict for claim in claims.claims(results_of({}))} == {Verdict.INCONCLUSIVE}


def test_the_figure_says_its_answer(tmp_path):
    write_results(tmp_path / "results.csv", made_up())
    figure = plot.plot(tmp_path)
    for words in (".952 to .953", "err 22 times", "1.1 at the start"):
        assert words in figure.get_suptitle()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == list(claims.ESTIMATORS)
