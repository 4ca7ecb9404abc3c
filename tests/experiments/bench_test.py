"""Timings are paired, goals are judged by rounds, and each benchmark measures its goals."""

import dataclasses
import functools
import itertools
import json

import jax
import numpy as np
import pytest

from el_jax.models import PRESETS
from experiments.bench import curvature_peers, pytorch, run
from experiments.bench.claims import GOALS, lines_of
from experiments.bench.paired import (
    DisagreementError,
    NotMeasuredError,
    compare,
)
from experiments.bench.trainings import PlainUpdates, Updates, on_one_batch, random_batch
from experiments.harness.judging import Verdict, judged
from tests.experiments.toys import table_of

HOLDS, FAILS, UNDECIDED = Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED
ROUNDS = np.linspace(0.95, 1.05, 9)


def test_sides_take_turns_so_that_a_steady_drift_cancels():
    order, time = [], itertools.count()

    def side(name, seconds):
        def timing():
            order.append(name)
            return seconds * (1.0 + 0.3 * next(time))

        return timing

    found = compare(side("a", 2.0), side("b", 3.0), 2)
    assert order == list("abba" * 3)  # the first round warms up
    np.testing.assert_allclose(found.ratios, 1.5, rtol=1e-12)
    np.testing.assert_allclose(found.first_seconds, [5.3, 7.7])  # means of 4.4, 6.2 and of 6.8, 8.6


UPDATE = "An update takes at most 0.9 of PyTorch's time"
MEMORY = "Without all logits a loss takes at most 0.15 of the memory"
FASTER = "Runs at once are 1.2 times as fast as one after another"


@pytest.mark.parametrize(
    ("text", "values", "verdict", "bound"),
    [
        (UPDATE, 0.5 * ROUNDS, HOLDS, "≤ 0.9"),
        (UPDATE, 0.9 * ROUNDS, UNDECIDED, "≤ 0.9"),
        (UPDATE, 1.0 * ROUNDS, FAILS, "≤ 0.9"),
        (UPDATE, [0.5] * 5, UNDECIDED, "≤ 0.9"),  # too few rounds
        (FASTER, 1.3 * ROUNDS, HOLDS, "≥ 1.2"),
        (MEMORY, [0.2], FAILS, "≤ 0.15"),  # a count: one value is enough
    ],
)
def test_goals_are_judged_by_rounds(text, values, verdict, bound):
    line = next(line for line in lines_of("cpu") if line.text == text)
    ((claim, outcome),) = judged([line.claim], table_of([(line.where, line.goal.quantity, values)]))
    assert (outcome.verdict, claim.paper) == (verdict, bound)


def test_sides_that_do_not_compute_the_same_are_an_error(tmp_path):
    np.savez(tmp_path / "ours.npz", all_losses=np.zeros(2))
    np.savez(tmp_path / "theirs.npz", all_losses=np.array([0.0, np.nan]))
    with pytest.raises(DisagreementError, match="all_losses"):
        pytorch.check_agreement(tmp_path)
    forms = {"pyhessian_probe": 2.001, "curvlinops_ggn": 4.1, "worst_leaf": 0.2}
    (tmp_path / "ours.json").write_text(json.dumps({"form": 2.0, "ggn": 4.0}))
    (tmp_path / "theirs.json").write_text(json.dumps(forms))
    with pytest.raises(DisagreementError, match=r"curvlinops_ggn gives 4\.1, we 4"):
        curvature_peers.check_agreement(tmp_path)


def test_the_engine_and_plain_updates_train_alike():
    sizes = {"vocab_size": 7, "width": 16, "num_layers": 1, "num_heads": 2, "max_length": 5}
    model = dataclasses.replace(PRESETS["gpt_neox"], **sizes)
    batch = random_batch(7, 2, 5, 3)
    engine, plain = Updates(on_one_batch(model, batch), 3), PlainUpdates(model, batch, 3)
    engine()
    plain()
    for ours, theirs in zip(*map(jax.tree.leaves, (engine.params, plain.params)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", run.BENCHMARKS)
def test_a_benchmark_measures_its_goals(name, monkeypatch):
    existing = functools.partial(pytorch.python_with_pytorch, install=False)
    monkeypatch.setattr(pytorch, "python_with_pytorch", existing)
    monkeypatch.setattr(curvature_peers, "python_with_pytorch", existing)
    benchmark = run.BENCHMARKS[name]
    assert set(benchmark.plans) == {"smoke", "cpu", "gpu"}
    cases, *options = benchmark.plans["smoke"]
    try:
        found = [benchmark.measure(case, *options) for case in cases.values()]
    except NotMeasuredError as error:
        pytest.skip(str(error))
    goals = [goal for goal in GOALS.values() if goal.benchmark == name]
    quantities = {goal.quantity for goal in goals if "vocab_size" not in goal.only}
    assert quantities <= {quantity for values in found for quantity in values}
    assert all(np.isfinite(rounds).all() for values in found for rounds in values.values())
