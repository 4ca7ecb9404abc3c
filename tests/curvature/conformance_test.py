"""The problems have the answers they state, our operator gives them, and a broken law is named."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from el_jax.curvature.conformance import IGNORED, PROBLEMS, __main__, judge, ours, report
from el_jax.curvature.conformance.laws import coverage, population_trace, sample
from el_jax.curvature.conformance.problems import DATA, NETWORKS
from el_jax.curvature.conformance.report import SPECTRUM

EXACT = [p for p in PROBLEMS if p.data == "ignored labels"]


def problem(network, data="one batch", matrix="hessian"):
    kind = network, data, "float64", matrix
    return next(p for p in PROBLEMS if (p.network, p.data, p.dtype, p.matrix) == kind)


@pytest.mark.parametrize("given", EXACT, ids=lambda p: p.name)
def test_the_known_answers_are_second_differences(given):
    """Differences of the loss along a direction; for Gauss-Newton, along the change of logits."""
    data, step = given.all_data(), 1e-4
    with jax.enable_x64(True):
        flat, tree_of = ravel_pytree({n: jnp.asarray(x) for n, x in given.params.items()})
        v = np.random.default_rng(0).normal(size=flat.size)
        v /= np.linalg.norm(v)
        logits = jax.jit(lambda t: given.logits(tree_of(flat + t * v), data.tokens))
        if given.matrix == "hessian":
            path = logits
        else:
            slope = (logits(step) - logits(-step)) / (2 * step)
            path = lambda t: logits(0.0) + t * slope  # noqa: E731
        values = [float(given.cross_entropy(path(t), data.labels)) for t in (-step, 0.0, step)]
        found = v @ given.dense() @ v
    np.testing.assert_allclose(np.diff(values, 2)[0] / step**2, found, rtol=1e-4)


def test_the_loss_is_the_mean_over_all_supervised_positions():
    for name in DATA:
        given = problem("tanh", name)
        counts = [(batch.labels != IGNORED).sum() for batch in given.batches]
        with jax.enable_x64(True):
            means = [given.loss(given.params, batch) for batch in given.batches]
            whole = given.loss(given.params, given.all_data())
        np.testing.assert_allclose(np.dot(counts, means) / sum(counts), whole, rtol=1e-12)
        assert (name == "ignored labels") == (len(set(counts / np.array(DATA[name]))) > 1)


@pytest.mark.parametrize("network", ["tied block", "one layer twice"])
def test_ours_passes(network):
    for given in (p for p in PROBLEMS if p.network == network):
        verdict = judge(ours.product, given)
        assert not verdict.broken, given.name
        assert verdict.error < 1e-12 or given.dtype != "float64"


def batches_alike(given):
    """Weigh all batches alike, whatever they hold, as many tools wrongly do."""
    parts = [ours.product(given.on(batch)) for batch in given.batches]
    return lambda v: {
        name: sum(np.asarray(part(v)[name]) for part in parts) / len(parts) for name in v
    }


def never_moves(given):
    return ours.product(given.at(problem(given.network, given.data).params))


def hessian_alone(given):
    if given.matrix != "hessian":
        raise NotImplementedError
    return ours.product(given)


def test_what_breaks_a_law_is_named():
    tanh = [p for p in PROBLEMS if p.network == "tanh" and p.dtype == "float64"]
    said = []
    lines = report(batches_alike, problems=tanh, say=said.append)
    assert lines["Hessian, one batch"] == (True, "1 of 1")
    assert not lines["Hessian, uneven batches"][0]
    assert lines["Gauss-Newton, ignored labels"][1].startswith("0 of 1 (all: error 0.")
    assert len(said) == 4
    assert "hessian, tanh, uneven batches, float64: matvec breaks the law dense" in said[0]

    assert "parameters" in judge(never_moves, tanh[0]).broken
    as_hessian = lambda p: ours.product(problem(p.network, p.data).at(p.params))  # noqa: E731
    assert "dense" in judge(as_hessian, problem("tanh", matrix="gauss_newton")).broken
    raising = judge(lambda _: 1 / 0, tanh[0])
    assert raising.broken == "ZeroDivisionError: division by zero"
    assert list(report(hessian_alone, problems=tanh)) == [f"Hessian, {data}" for data in DATA]


def test_stated_errors_are_judged_by_how_often_they_hold():
    truth = float(np.trace(SPECTRUM.dense()))

    def stating(factor):
        def trace(_, seed):
            return truth + np.random.default_rng(seed).normal(), factor

        return trace

    assert 0.93 < coverage(stating(1.0), SPECTRUM, truth, 1_000, 1) < 0.97
    assert coverage(stating(0.5), SPECTRUM, truth, 1_000, 1) < 0.75
    point = lambda given, _: [float(np.trace(given.dense()))]  # noqa: E731
    lines = report(ours.product, trace=point, problems=[])
    assert lines == {
        f"Trace, stated error of {of}": (False, "not stated") for of in ("probes", "examples")
    }
    lines = report(ours.product, top=lambda _: [1.0], problems=[])
    passed, text = lines["Largest eigenvalues"]
    assert not passed
    assert text.startswith("raises TypeError")


def test_a_large_sample_has_the_trace_of_the_population():
    given = problem("table")
    drawn = float(np.trace(sample(given, 0, num=3_000).dense()))
    np.testing.assert_allclose(drawn, population_trace(given), rtol=0.05)
    assert float(np.trace(sample(given, 1).dense())) != float(np.trace(sample(given, 2).dense()))


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["conformance", *arguments])
    return __main__.main()


def test_the_command_prints_a_line_for_each_kind_and_its_code_tells(monkeypatch, capsys):
    where = "el_jax.curvature.conformance.ours"
    code = run(monkeypatch, f"{where}:product", f"--eigenvalues={where}:top", "--only=table")
    printed = capsys.readouterr().out
    assert code == 0
    assert printed.count("passes") == 7
    assert "passes  Gauss-Newton, ignored labels: 1 of 1" in printed
    name = "tests.curvature.conformance_test:batches_alike"
    assert run(monkeypatch, name, "--only=table") == 1
    assert "FAILS   Hessian, uneven batches: 0 of 1 (all: error" in capsys.readouterr().out


def has_nothing(_):
    raise NotImplementedError


def test_a_tool_that_has_neither_matrix_does_not_pass(monkeypatch, capsys):
    with pytest.raises(SystemExit) as info:
        run(monkeypatch, "tests.curvature.conformance_test:has_nothing", "--only=table")
    assert info.value.code == 2
    assert "has neither matrix, so nothing was judged" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["no_such_package:f", "numpy:no_such", "numpy", ":f"])
def test_a_function_that_is_not_there_is_refused_in_a_line(name, monkeypatch, capsys):
    with pytest.raises(SystemExit) as info:
        run(monkeypatch, name)
    assert info.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: product={name!r}: must be PACKAGE:FUNCTION")
    assert error.count("\n") == 1


@pytest.mark.slow
def test_ours_passes_every_line():
    lines = report(ours.product, top=ours.top, trace=ours.trace)
    assert len(lines) == 13
    assert {name for name, (passed, _) in lines.items() if not passed} == set()
    assert len(PROBLEMS) == 2 * (len(NETWORKS) * len(DATA) + 6)
