"""The benchmarks pair timings, judge goals by rounds, and each of them runs."""

import dataclasses
import functools
import itertools
import json
import random

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from el_jax.models import PRESETS
from el_jax.tasks import PathStar
from experiments import bench
from experiments.__main__ import ROOT, main
from experiments.bench import (
    curvature_peers,
    gpt2,
    labeller,
    path_star,
    products_worker,
    pytorch,
    pytorch_environment,
    run,
)
from experiments.bench.claims import GOALS, claims, judge_goals
from experiments.bench.measurement import Measurement
from experiments.bench.paired import compare
from experiments.bench.plot import COPY_TASK, answer, plot
from experiments.bench.trainings import PlainUpdates, Updates, on_one_batch, random_batch
from experiments.bench.worker import Worker, WorkerError
from experiments.harness import report
from experiments.harness.claims import Verdict
from experiments.harness.provenance import read_provenance
from experiments.harness.tables import read_results
from tests.experiments.toys import results_of

HOLDS, FAILS, INCONCLUSIVE = Verdict.HOLDS, Verdict.FAILS, Verdict.INCONCLUSIVE

# ---- pairs ------------------------------------------------------------------------------------


class Machine:
    """A simulated machine: each timing is the task's work times the machine's current pace."""

    def __init__(self, pace):
        self.pace, self.time, self.order = pace, itertools.count(), []

    def side(self, name, seconds):
        def timing():
            self.order.append(name)
            return seconds * self.pace(next(self.time))

        return timing


def test_sides_take_turns_as_first_second_second_first_after_a_round_of_warming_up():
    machine = Machine(lambda t: 1.0 + t)
    found = compare(machine.side("a", 1.0), machine.side("b", 10.0), 2)
    assert machine.order == list("abba" * 3)
    np.testing.assert_allclose(found.first_seconds, [6.5, 10.5])  # of 5 and 8, of 9 and 12
    np.testing.assert_allclose(found.second_seconds, [65, 105])
    with pytest.raises(ValueError, match="rounds=0"):
        compare(machine.side("a", 1.0), machine.side("b", 1.0), 0)


def test_a_steady_drift_cancels():
    drifting = Machine(lambda t: 1.0 + 0.3 * t)
    found = compare(drifting.side("a", 2.0), drifting.side("b", 3.0), 6)
    np.testing.assert_allclose(found.ratios, 1.5, rtol=1e-12)


# ---- goals ------------------------------------------------------------------------------------

UPDATE = COPY_TASK, "update / PyTorch"
MEMORY = "fused: E1, 512 tokens", "memory / plain"
FASTER = "runs_at_once: CPU, 10 runs", "one after another / the best of these"
ROUNDS = np.linspace(0.95, 1.05, 9)


@pytest.mark.parametrize(
    ("entry", "values", "verdict", "bound"),
    [
        (UPDATE, 0.5 * ROUNDS, HOLDS, "≤ 0.9"),
        (UPDATE, 0.9 * ROUNDS, INCONCLUSIVE, "≤ 0.9"),
        (UPDATE, 1.0 * ROUNDS, FAILS, "≤ 0.9"),
        (UPDATE, [0.5] * 5, INCONCLUSIVE, "≤ 0.9"),  # too few rounds
        (FASTER, 1.3 * ROUNDS, HOLDS, "≥ 1.2"),
        (FASTER, 1.1 * ROUNDS, FAILS, "≥ 1.2"),
        (MEMORY, [0.04], HOLDS, "≤ 0.15"),  # counted: one is enough
        (MEMORY, [0.2], FAILS, "≤ 0.15"),
    ],
)
def test_goals_are_judged_by_rounds(entry, values, verdict, bound):
    (claim,) = claims(results_of({entry: values}), {})
    assert (claim.verdict, claim.paper_value) == (verdict, bound)


def test_a_case_that_was_not_measured_is_claimed_with_its_reason():
    (claim,) = claims(results_of({}), {"gpt2: GPT-2 124M": "no accelerator"})
    assert (claim.verdict, claim.detail) == (INCONCLUSIVE, "not measured: no accelerator")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The tables of two benchmarks that took no time, and of one that could not be measured."""
    made = {
        "pytorch": [Measurement(COPY_TASK.partition(": ")[2], {UPDATE[1]: 0.5 * ROUNDS})],
        "fused": [Measurement("E1, 512 tokens", {MEMORY[1]: 0.2, "plain, ms": [2.0, 3.0]})],
        "gpt2": [Measurement("GPT-2 124M", not_measured="no accelerator")],
    }
    for name, found in made.items():
        monkeypatch.setattr(run.BENCHMARKS[name], "measure", lambda plan, found=found: found)
    monkeypatch.setattr(run, "BENCHMARKS", {name: run.BENCHMARKS[name] for name in made})
    monkeypatch.setattr(run, "use_cores", lambda cores: None)
    monkeypatch.setattr(run, "measure_apart", run.measure)  # processes would not see the above
    run.run("cpu", tmp_path)
    return tmp_path


def test_rounds_are_seeds_and_reasons_are_kept(folder):
    expected = results_of(
        {UPDATE: 0.5 * ROUNDS, MEMORY: [0.2], (MEMORY[0], "plain, ms"): [2.0, 3.0]}
    )
    order = ["setting", "metric", "seed"]
    found = read_results(folder / "results.csv")
    tables = (table.sort_values(order, ignore_index=True) for table in (found, expected))
    pd.testing.assert_frame_equal(*tables)
    provenance = read_provenance(folder / "provenance.json")
    assert provenance.not_measured == {"gpt2: GPT-2 124M": "no accelerator"}
    assert set(provenance.wall_seconds) == {UPDATE[0], MEMORY[0], "gpt2: GPT-2 124M"}
    assert provenance.hardware["processor"] in report._origin(provenance)


def test_the_figure_has_every_goal_its_interval_and_what_is_missing(folder):
    figure = plot(folder)
    assert figure.get_suptitle() == (
        "1 of 3 speed goals are met, 1 is missed:\n"
        "an update of the copy task takes .50 of PyTorch's time"
    )
    figure.draw_without_rendering()
    ax, right = figure.axes[0], figure.axes[0].child_axes[0]
    shown = [label.get_text() for label in right.get_yticklabels()]
    assert shown == ["0.5 (0.481 to 0.519)", "0.2", "not measured: no accelerator"]
    bars = [line.get_xdata() for line in ax.lines if len(set(line.get_ydata())) == 1]
    np.testing.assert_allclose(bars[1], np.divide([0.48125, 0.51875], 0.9))  # 2nd and 8th of 9


def test_the_title_says_nothing_of_what_was_not_measured():
    assert answer(results_of({}), []) == "0 of 0 speed goals are met, none is missed"


def test_an_unknown_benchmark_is_named(capsys):
    assert main(["run", "bench", "--smoke", "--only=pytorch,no_such"]) == 2
    assert "bench has no no_such; there are: pytorch, products" in capsys.readouterr().err


# ---- the same computation on both sides -------------------------------------------------------


def tiny(preset):
    return dataclasses.replace(
        PRESETS[preset], vocab_size=7, width=8, num_layers=2, num_heads=2, max_length=5,
        rotary_fraction=0.5, embedding_dropout=0.0, attention_dropout=0.0, residual_dropout=0.0,
    )  # fmt: skip


def test_the_engine_and_plain_updates_train_alike():
    model, batch = tiny("gpt_neox"), random_batch(7, 2, 5)
    engine, plain = Updates(on_one_batch(model, batch), 3), PlainUpdates(model, batch, 3)
    equal = functools.partial(np.testing.assert_allclose, atol=1e-7)
    jax.tree.map(equal, engine.params, plain.params)
    start = plain.params["tok_emb"].copy()
    engine()
    plain()
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), engine.params, plain.params
    )
    assert float(jnp.abs(plain.params["tok_emb"] - start).max()) > 1e-3  # 3 steps of Adam at 1e-3


def test_a_batch_asks_for_as_many_positions_as_it_should():
    few, everywhere = random_batch(50, 3, 20, 2), random_batch(50, 3, 20)
    np.testing.assert_array_equal(few.tokens, everywhere.tokens)
    np.testing.assert_array_equal(everywhere.supervised, np.tile(np.arange(20), (3, 1)))
    assert (np.diff(few.supervised) > 0).all()
    picked = np.take_along_axis(np.asarray(everywhere.labels), np.asarray(few.supervised), 1)
    np.testing.assert_array_equal(few.labels, picked)


def test_a_disagreement_with_pytorch_is_an_error(tmp_path):
    np.savez(tmp_path / "ours.npz", all_logits=np.zeros(3), all_losses=np.zeros(2))
    np.savez(tmp_path / "theirs.npz", all_logits=np.full(3, 1e-5), all_losses=np.zeros(2))
    pytorch.check_agreement(tmp_path, 1e-4)
    np.savez(tmp_path / "theirs.npz", all_logits=np.zeros(3), all_losses=np.array([0.0, 0.01]))
    with pytest.raises(pytorch.DisagreementError, match=r"all_losses .* by 0\.01"):
        pytorch.check_agreement(tmp_path, 1e-4)
    np.savez(tmp_path / "theirs.npz", all_logits=np.full(3, np.nan), all_losses=np.zeros(2))
    with pytest.raises(pytorch.DisagreementError, match="all_logits"):
        pytorch.check_agreement(tmp_path, 1e-4)


def test_forms_of_the_peers_must_be_ours_but_the_one_that_is_known_to_be_wrong(tmp_path):
    def write(side, **forms):
        (tmp_path / f"{side}.json").write_text(json.dumps(forms))

    write("ours", form=2.0, hvp=2.0, ggn=4.0)
    write("theirs", pyhessian_probe=2.001, curvlinops_hvp=2.5, curvlinops_ggn=4.0, worst_leaf=0.2)
    assert curvature_peers.check_agreement(tmp_path) == 0.2
    write("theirs", pyhessian_probe=2.0, curvlinops_hvp=2.0, curvlinops_ggn=4.1)
    with pytest.raises(pytorch.DisagreementError, match=r"curvlinops_ggn gives 4\.1, we 4"):
        curvature_peers.check_agreement(tmp_path)


def test_a_label_that_differs_from_the_reference_is_an_error():
    labeller.check_agreement([["w1", "w2"]], np.array([3, 0]), ["S3"])
    with pytest.raises(labeller.DisagreementError, match="'w1 w2': we S3, reference S4"):
        labeller.check_agreement([["w1", "w2"]], np.array([3]), ["S4"])


def test_without_pytorch_nothing_is_made_up(monkeypatch):
    def none(**_):
        raise pytorch_environment.NoPyTorchError("pip cannot install PyTorch (no network)")

    monkeypatch.setattr(pytorch, "python_with_pytorch", none)
    found = list(pytorch.measure(pytorch.PLANS["cpu"]))
    assert len(found) == 4
    assert {case.not_measured for case in found} == {"pip cannot install PyTorch (no network)"}
    assert not any(case.values for case in found)


# ---- the benchmarks ---------------------------------------------------------------------------


def test_model_flops_are_six_a_parameter_and_twelve_a_score():
    model = PRESETS["gpt2"]
    # by hand: 2 for the forward and 4 for the backward product of each parameter; in each layer
    # scores and averages are 2 * 2 T D forward, twice that backward
    assert gpt2.model_flops(model, 124_000_000, 1024) == 6 * 124e6 + 12 * 12 * 768 * 1024


def test_a_worker_that_dies_says_why():
    with (
        Worker("experiments.bench.runs_worker", ["no json"]) as worker,
        pytest.raises(WorkerError, match="JSONDecodeError"),
    ):
        worker.ready()


def test_graphs_one_by_one_are_those_of_the_task(tmp_path):
    file = tmp_path / "graphs.txt"
    task = PathStar(degree=3, path_length=4, num_nodes=20)
    rng, shuffler = np.random.RandomState(0), random.Random(0)
    graphs = [path_star.draw_graph(task, rng, shuffler) for _ in range(50)]
    lines = [path_star.line_of(task, graph) for graph in graphs]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    read = dataclasses.replace(task, test_file=str(file))  # refuses what is no such graph
    windows = read.pack(read.test_set(50)).tokens
    np.testing.assert_array_equal(windows, [path_star.tokens_of(task, graph) for graph in graphs])
    assert [task.render(row) for row in windows] == lines
    assert len({*lines}) == 50
    places = [edges.index(tuple(path[:2])) for edges, path in graphs]
    assert len({*places}) == task.num_edges  # edges are in any order


# 10 s each and more
SLOW = {"pytorch", "curvature_peers", "relaunch", "runs_at_once", "overhead", "last_block"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
        for name in run.BENCHMARKS
        if name != "gpt2"
    ],
)
def test_a_benchmark_measures_its_goals(name, monkeypatch):
    found = functools.partial(pytorch_environment.python_with_pytorch, install=False)
    for module in (pytorch, curvature_peers):
        monkeypatch.setattr(module, "python_with_pytorch", found)
    benchmark = run.BENCHMARKS[name]
    assert set(benchmark.PLANS) == set(bench.SCALES)
    found = list(benchmark.measure(benchmark.PLANS["smoke"]))
    if found[0].not_measured:
        pytest.skip(found[0].not_measured)
    assert len({case.case for case in found}) == len(found)
    values = {quantity: np.atleast_1d(v) for case in found for quantity, v in case.values.items()}
    for goal in GOALS:
        of_paper = ("V=1000" in goal.settings, "4L/128" in goal.settings)  # not of the smoke scale
        if goal.settings.startswith(f"{name}: ") and not any(of_paper):
            assert goal.quantity in values
    for quantity, rounds in values.items():
        assert np.isfinite(rounds).all()
        assert (rounds > 0).all() or "loading" in quantity or "share" in quantity


def test_gpt2_is_not_measured_on_a_cpu_but_would_be():
    (case,) = gpt2.measure(gpt2.PLANS["cpu"])
    assert (case.values, case.not_measured) == ({}, "no accelerator")
    small = tiny("gpt2")
    values = gpt2.utilisation(small, gpt2.Plan(2, 1, 2, 8192 // 128))
    tokens, share = values.values()
    assert list(values) == ["tokens a second", "model FLOPs / those of an 64 product"]
    np.testing.assert_allclose(share / tokens, share[0] / tokens[0])
    assert (tokens > 0).all()


# ---- what is committed ------------------------------------------------------------------------

COMMITTED = ROOT / "bench" / "results.csv"


@pytest.mark.skipif(
    not COMMITTED.exists(), reason="needs the tables of: python -m experiments run bench"
)
def test_committed_tables_have_every_goal_of_a_cpu():
    reasons = read_provenance(COMMITTED.with_name("provenance.json")).not_measured
    found = {judged.goal for judged in judge_goals(read_results(COMMITTED), reasons)}
    assert found == {goal for goal in GOALS if "GPU" not in goal.settings}


def test_products_are_those_of_the_traced_gradient():
    def loss(w, x):
        return jnp.einsum("bij,bjk->bik", x, jax.jit(jnp.tanh)(w)).sum()

    w, x = jnp.ones((2, 3, 5)), jnp.ones((2, 4, 3))
    traced = jax.make_jaxpr(jax.jit(jax.value_and_grad(loss)))(w, x)
    forward, backward = products_worker.products_of(traced.jaxpr)
    assert forward == (2, 4, 3, 5)
    assert sorted(backward[1:]) == [3, 4, 5]
    assert backward.k == 4  # the gradient of w sums over the rows of x
