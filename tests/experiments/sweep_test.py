"""Studies become rows: names, one process a seed, and errors of every process."""

import importlib.metadata
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from configs.el.copy import get_config
from el_jax import build
from el_jax.process.errors import ConfigError
from el_jax.training.non_finite import NonFiniteError
from el_jax.training.sinks import History
from experiments.harness import kept, studies, sweep
from experiments.harness.names import level_name
from experiments.harness.studies import Study, Trained
from tests.training.small_training import small_config
from tests.trainings import ROOT


@pytest.mark.parametrize(
    ("loss", "changes", "factors"),
    [
        ("cross_entropy", {"optim.warmup_steps": 5}, {"warmup_steps": 5}),
        ("e3", {"loss.b": 2.0}, {"b": 2.0}),
        ("poly1", {"sweep.optim.epsilon": (1e-6,)}, {"epsilon": 1.0, "optim.epsilon": 1e-6}),
        ("label_smoothing", {"sweep.optim.b2": (0.95,)}, {"smoothing": 0.1, "b2": 0.95}),
    ],
)
def test_the_factors_of_a_run_are_loss_numbers_and_what_is_swept(loss, changes, factors):
    config = get_config(f"loss={loss},smoke")
    config.update_from_flattened_dict(changes)
    expected = {"loss": loss, "warmup_steps": config.optim.warmup_steps, **factors, "size": 3}
    for run in build.parse(config).rows:
        assert sweep.factors_of_run(Study(config, {"size": 3}), run) == expected


def test_runs_of_the_same_factors_are_refused_before_anything_is_trained(tmp_path, monkeypatch):
    twice = [Study(tiny()), Study(tiny())]
    monkeypatch.setattr(sweep, "train_all", lambda *_: pytest.fail("trained"))
    with pytest.raises(ConfigError, match=r"two runs have the same factors, .*'lam': 2.0"):
        sweep.run_sweep("one", "smoke", tmp_path, studies=lambda _: twice, metrics=(), curves=())


def tiny(**train):
    short = {"num_updates": 4, "log_every": 2, "eval_every": 2, "checkpoint_every": 4, "seeds": 1}
    return small_config(**(short | train))


def test_a_level_has_one_name_for_what_is_measured_and_what_is_replaced():
    studied = [Study(small_config(), {"share": share}) for share in (0.5, 1.0, 2)]
    found = sweep.with_levels(studied, "share", ["1", "0.5"])
    assert [study.factors["share"] for study in found] == [0.5, 1.0]
    column = pd.Series([0.5, 1.0, 1e6, np.nan])  # as read from a file
    assert [*column.map(level_name)] == ["0.5", "1", "1000000", "nan"]


def test_seeds_are_shared_out_with_the_whole_sweep_each():
    config = tiny(seeds=3)
    config.seed = 5
    config.sweep.loss.lam = (1.0, 2.0)
    parts = [build.parse(part) for part in studies.by_seed(Study(config), run_axis="map")]
    assert [[(run["seed"], run["lam"]) for run in part.rows] for part in parts] == [
        [(seed, 1.0), (seed, 2.0)] for seed in (5, 6, 7)
    ]
    assert {part.train.run_axis for part in parts} == {"map"}  # each is the run trained alone
    assert (config.seed, config.train.seeds, config.train.run_axis) == (5, 3, "vmap")


def test_every_seed_draws_strings_of_its_own():
    config = tiny(seeds=4)
    config.task.data_seed = 7
    parts = studies.by_seed(Study(config))
    assert [part.task.data_seed for part in parts] == [7, 8, 9, 10]
    assert [part.seed for part in parts] == [0, 1, 2, 3]
    assert config.task.data_seed == 7


def test_networks_of_a_data_set_are_trained_together_and_told_by_their_number():
    config = tiny(seeds=2)
    config.seed = config.task.data_seed = 7
    study = Study(config, networks=3)
    parts = studies.by_seed(study)
    assert [(p.seed, p.train.seeds, p.task.data_seed) for p in parts] == [(7, 3, 7), (10, 3, 8)]
    history = History()
    history.write(10, {"loss": np.array([1.0, 2.0, 3.0])})
    trained = Trained(build.parse(parts[1]).rows, history, 0.0)
    rows, _ = sweep._rows(study, trained, ["loss"], [], None)
    told = [(row["seed"], row["networks"], row["value"]) for row in rows]
    assert told == [(8, 1, 1.0), (8, 2, 2.0), (8, 3, 3.0)]


def test_rows_have_last_values_and_courses_under_the_names_of_the_study():
    history = History()
    history.write(10, {"loss": np.array([3.0, 4.0]), "state_1": np.array([0.1, 0.2])})
    last = {"loss": (1.0, 2.0), "state_1_sem": (5.0, 6.0), "state_10": (7.0, 8.0)}
    history.write(20, {name: np.array(values) for name, values in last.items()})
    runs = tuple({"seed": seed, "warmup_steps": 0, "lam": 1.0} for seed in (0, 1))
    study = Study(tiny(), names={"state_1": "near", "state_10": "far"})

    def extras(history):
        return {"seen": history.curve("far")[1][-1]}

    metrics = ["loss", "near", "near_sem", "far", "seen"]
    results, points = sweep._rows(
        study, Trained(runs, history, 1.0), metrics, ["loss", "near"], extras
    )
    values = {(row["seed"], row["metric"]): row["value"] for row in results}
    assert [values[0, metric] for metric in metrics] == [1, 0.1, 5, 7, 7]
    assert [values[1, metric] for metric in metrics] == [2, 0.2, 6, 8, 8]
    factors = {"loss": "e1", "lam": 1.0, "warmup_steps": 0}
    assert factors | {"seed": 1, "metric": "loss", "value": 2.0} in results
    assert factors | {"seed": 0, "step": 10, "metric": "loss", "value": 3.0} in points
    assert len(points) == 6  # near was measured once


def test_fitting_reads_the_rows_that_evaluate():
    history = History()
    looks = [(10, 0.0, 0.0), (20, 1.0, 0.25), (30, 1.0, 0.75)]
    for step, train, test in looks:
        history.write(step - 5, {"batch_loss": np.array([1.0])})
        row = {"train_hard_accuracy": train, "test_hard_accuracy": test}
        history.write(step, {name: np.array([value]) for name, value in row.items()})
    found = sweep.fitting(history)
    assert {name: values.tolist() for name, values in found.items()} == {
        "fitted_step": [20],
        "hard_accuracy_when_fitted": [0.25],
        "rectified_afterwards": [0.5],
    }


def test_finished_runs_are_kept_and_read_back(tmp_path):
    first = studies._train(tiny(), tmp_path / "kept" / "part.json")
    again = studies._train(tiny(), tmp_path / "kept" / "part.json")
    assert again.runs == first.runs
    assert again.history.steps == first.history.steps == [2, 4]
    assert again.seconds == pytest.approx(first.seconds, rel=1e-12)  # not measured anew
    for ours, theirs in zip(again.history.rows, first.history.rows, strict=True):
        assert ours.keys() == theirs.keys()
        for name, values in ours.items():
            np.testing.assert_array_equal(values, theirs[name], err_msg=name)


def test_an_error_in_one_process_ends_the_sweep_with_its_message(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "KEPT", tmp_path)
    endless, another, bad = tiny(num_updates=10**8), tiny(num_updates=10**8), tiny()
    another.seed = 1  # else it would only report that the first one holds its folder
    bad.optim.peak_lr = 1e30
    started = time.monotonic()
    many = [Study(endless), Study(bad), Study(another)]
    with pytest.raises(NonFiniteError, match=r"not finite at step \d+ in run 0 .*peak_lr=1e\+30"):
        studies._train_all_on_cpu("sweep", many)
    assert time.monotonic() - started < 300  # the endless ones were told to stop
    assert not list(tmp_path.glob("**/*.json"))


@pytest.mark.slow
def test_a_killed_sweep_leaves_no_process_behind(tmp_path):
    command = [sys.executable, "-m", "experiments", "run", "el_ensemble", "--smoke"]
    command.append(f"--out={tmp_path}")
    group = {"stdout": subprocess.PIPE, "start_new_session": True}
    with subprocess.Popen(command, cwd=ROOT, **group) as sweep:
        assert b"el_ensemble  0/" in sweep.stdout.readline()  # its processes have started
        sweep.kill()
    until = time.monotonic() + 20
    while is_running(sweep.pid) and time.monotonic() < until:
        time.sleep(0.5)
    assert not is_running(sweep.pid)


def is_running(group):
    """True if a process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_kept_runs_belong_to_one_commit_and_one_config(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "KEPT", tmp_path)
    monkeypatch.setattr(kept, "checkout_state", lambda: ("0123456789abcdef", False))
    one, other = kept.path_of(tiny()), kept.path_of(tiny(seeds=2))
    assert one.parent == other.parent == tmp_path / "0123456789ab"
    assert one != other
    assert one == kept.path_of(tiny())
    with monkeypatch.context() as upgraded:
        upgraded.setattr(importlib.metadata, "version", lambda _: "9.9")
        assert one != kept.path_of(tiny())
    monkeypatch.setattr(kept, "checkout_state", lambda: ("0123456789abcdef", True))
    assert kept.path_of(tiny()) is None  # code that is not committed has no name


def test_kept_runs_belong_to_the_text_that_they_read(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "checkout_state", lambda: ("0123456789abcdef", False))
    text = tmp_path / "text.txt"
    config = build.Config({"task": {"name": "running_text", "source": str(text)}})
    paths = [text.write_text(words) and kept.path_of(config) for words in ("one", "two", "one")]
    assert paths[0] == paths[2] != paths[1]
