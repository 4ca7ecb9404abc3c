"""The flattest nets on balanced brackets: bound, families, transfer, and claims on made-up numbers.

Everything is enumerated at T = 4, where an integer neuron's conditions can be tried one by one.
"""

import itertools
from collections import Counter

import jax
import numpy as np
import pytest

from el_jax.worlds import Dyck
from experiments.flat_dyck import claims, model, plot, run, solutions, training, transfer
from experiments.harness.claims import Verdict
from experiments.harness.tables import write_curves, write_results
from tests.experiments.toys import curves_of, results_of

GIVEN = run.data(4)


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


# ---- the bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["transferable", "kinked"])
def test_both_solutions_fit_and_attain_the_bound(name):
    net = getattr(solutions, name)(4)
    numbers = run.flatness(net, GIVEN)
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
    found = model.squared_gradient(net, GIVEN.masked.inputs[:7])  # no multiple of a chunk
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


# ---- claims and figure on made-up numbers --------------------------------------------------------

SEEDS = np.arange(4)
FLAT = dict.fromkeys(("loss", "best_error", "median_n20"), 0.0)
FLAT |= dict.fromkeys(("trace_ratio", "rescaled_ratio"), 1.0)


def made_up(spoilt: dict[tuple[str, str], float] | None = None):
    """Results as the paper has them, but for the kinked neurons; some of them spoilt."""
    nets = {
        "balance neurons, T=4": FLAT | {"hessian_ratio": 1.0, "nearby_ratio": 1.0}
        | {f"probability_gap_n{n}": 0.01 for n in run.SAMPLES},
        "kinked neurons, T=4": FLAT | {"best_error": 0.088, "nearby_ratio": 1.25}
        | {"median_n20": 0.09},
        "random features, T=4": FLAT | {"trace_ratio": 7.0, "rescaled_ratio": 4.0}
        | {"best_error": 0.1, "share_exact_n10": 0.0},
        "enumeration, T=4": {"share_reading_balance": 17 / 33, "neurons_other": 0.0},
        "trained": {"rank_correlation_best_error": 0.8, "rank_correlation_median_n20": 0.8},
        "trained without penalty": {"rank_correlation_best_error": 0.5,
                                    "rank_correlation_median_n20": 0.5},
    }  # fmt: skip
    for place, name in enumerate(training.TRAININGS):
        one = {"trace_ratio": 3.01 - place, "best_error": 0.201 - 0.1 * place}
        one |= {"median_n20": 0.201 - 0.1 * place, "fits": 1.0}
        nets |= {f"{name}, every m": one, f"{name}, T=4, m=8": one}
    table = {(net, metric): value for net, row in nets.items() for metric, value in row.items()}
    varying = ("best_error", "gap", "n20", "trace_ratio")
    return results_of({
        (net, metric): value + 1e-3 * SEEDS * (metric.endswith(varying) and "neurons" not in net)
        for (net, metric), value in (table | (spoilt or {})).items()
    })  # fmt: skip


def verdicts(spoilt: dict[tuple[str, str], float] | None = None) -> dict[str, Verdict]:
    return {claim.text: claim.verdict for claim in claims.claims(made_up(spoilt))}


GAP = ("All neurons of a net that attains", "So they transfer")


def test_all_claims_hold_but_those_that_the_kinked_neurons_refute():
    found = verdicts()
    failing = {text for text, verdict in found.items() if verdict is not Verdict.HOLDS}
    assert len(failing) == len(GAP)
    assert all(any(text.startswith(start) for text in failing) for start in GAP)
    assert all(found[text] is Verdict.FAILS for text in failing)


@pytest.mark.parametrize(
    ("key", "value", "start"),
    [
        (("balance neurons, T=4", "trace_ratio"), 1.1, "Solution 1 attains"),
        (("balance neurons, T=4", "hessian_ratio"), 1.1, "... and so does the trace"),
        (("random features, T=4", "trace_ratio"), 0.9, "No net of zero loss"),
        (("plain, T=4, m=8", "trace_ratio"), 0.9, "No net of zero loss has a smaller trace: plain"),
        (("balance neurons, T=4", "probability_gap_n5"), 0.1, "Solution 1 transfers from n = 5"),
        (("random features, T=4", "loss"), 0.1, "Random features fit"),
        (("random features, T=4", "share_exact_n10"), 0.5, "Random features do not transfer"),
        (("kinked neurons, T=4", "nearby_ratio"), 1.0, "Off the kinks"),
        (("trained", "rank_correlation_best_error"), -0.5, "Of the nets of one seed"),
        (("penalty, every m", "trace_ratio"), 3.5, "Training with penalty lowers the trace"),
        (("penalty, every m", "best_error"), 0.3, "... and to transfer"),
    ],
)
def test_a_spoilt_number_fails_its_claim(key, value, start):
    failing = [text for text, verdict in verdicts({key: value}).items() if verdict is Verdict.FAILS]
    assert any(text.startswith(start) for text in failing)


def test_a_net_that_does_not_fit_is_not_asked_for_its_trace():
    found = verdicts({
        ("plain, T=4, m=8", "trace_ratio"): 0.5, ("plain, T=4, m=8", "fits"): 0.0,
    })  # fmt: skip
    (bound,) = [v for text, v in found.items() if "smaller trace: plain" in text]
    assert bound is Verdict.INCONCLUSIVE


def test_claims_on_nothing_are_inconclusive():
    assert {claim.verdict for claim in claims.claims(results_of({}))} == {Verdict.INCONCLUSIVE}


def test_the_figure_says_its_answer(tmp_path):
    write_results(tmp_path / "results.csv", made_up())
    steps = np.array(run.SAMPLES)
    shares = np.tile([0.2, 0.7, 0.9, 1.0], (2, 1))
    names = ("balance neurons", "kinked neurons", "random features", "tokens")
    write_curves(
        tmp_path / "curves.csv",
        curves_of({(f"{name}, T=4", "share_exact"): (steps, shares) for name in names}),
    )
    figure = plot.plot(tmp_path)
    for words in ("(error .0025; without .20)", "(error .090)", "is 1.25 of the bound"):
        assert words in figure.get_suptitle()
    assert "rank corr. .50 ± .00" in figure.axes[0].get_title(loc="left")
    drawn = [line.get_xdata()[0] for line in figure.axes[0].lines]
    assert {1.0, 1.25, 7.0015} <= {round(float(x), 4) for x in drawn}


def test_rank_correlations_take_errors_of_zero_as_ties():
    rows = [
        {
            "fits": fits,
            "trace_ratio": trace,
            "rescaled_ratio": trace,
            "best_error": error,
            "median_n20": 0,
        }
        for fits, trace, error in ((1, 1, 1e-30), (1, 1, 1e-20), (1, 2, 0.1), (0, 0.5, 3.0))
    ]
    found = run.rank_correlations(rows)
    assert found == {"rank_correlation_best_error": pytest.approx(1)}
    assert run.over_widths(rows)["fits"] == 0.75
    assert run.over_widths(rows)["trace_ratio"] == pytest.approx(4 / 3)
    assert run.rank_correlations(rows[2:]) == {}
