"""A workdir is read back as it was written, and shown; nothing in it changes."""

import json
import re
import shutil
import subprocess
import sys

import jax
import numpy as np
import pytest

import el_jax
from el_jax import build, show
from el_jax.checkpoint import CheckpointError
from el_jax.process.errors import ConfigError
from el_jax.run import start_from
from tests import trainings


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A sweep of two seeds."""
    sweep = ["--config.sweep.loss.lam=(0.5, 2.0)", "--config.train.seeds=2"]
    return trained_in(tmp_path_factory.mktemp("sweep"), *sweep)


@pytest.fixture
def workdir(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def test_metrics_are_one_number_a_line(workdir):
    run = el_jax.load(workdir)
    assert run.config.loss.name == run.settings.loss.name
    found = run.metrics
    assert list(found)[:2] == ["run", "seed"]
    assert list(found)[-3:] == ["step", "metric", "value"]
    row = json.loads((workdir / "metrics.jsonl").read_text().splitlines()[-1])
    for number, numbers in enumerate(json.loads((workdir / "runs.json").read_text())):
        ours = found.query(f"run == {number} and step == 20").set_index("metric")
        assert set(ours.seed) == {numbers["seed"]}
        assert set(ours.lam) == {numbers["lam"]}
        expected = {name: v[number] for name, v in row.items() if name != "step"}
        assert ours.value.dropna().to_dict() == {k: v for k, v in expected.items() if v is not None}


def test_parameters_are_those_that_were_measured(workdir, monkeypatch):
    run = el_jax.load(str(workdir))
    assert run.steps == [10, 20]
    training = build.build(run.settings)
    for step in run.steps:
        batch = training.evaluations["test"]
        params = run.params(1, step, lam=2.0)
        logits = run.model.apply(params, batch)
        accuracy = np.asarray(logits.argmax(-1) == batch.labels).mean()
        measured = run.metrics.query(f"step == {step} and metric == 'test_accuracy' and lam == 2")
        (value,) = measured.query("seed == 1").value
        np.testing.assert_allclose(accuracy, value, atol=1e-6)
    monkeypatch.chdir(workdir.parent)
    newest = el_jax.load(workdir.name).params(1, lam=2.0)
    jax.tree.map(np.testing.assert_array_equal, newest, params)
    with jax.enable_x64(True):
        again = el_jax.load(workdir.name).params(1, lam=2.0)
    jax.tree.map(np.testing.assert_array_equal, again, params)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"seed": 1}, "seed=1: 2 runs of 4; choose from "),
        ({"seed": 1, "lam": 2.00001}, "seed=1, lam=2.00001: 0 runs of 4; choose from "),
        ({"seed": 7, "lam": 0.5}, "seed=7, lam=0.5: 0 runs of 4; choose from "),
        ({"seed": 1, "lamda": 0.5}, "lamda: no number of these runs; they have seed, "),
        ({"seed": 1, "lam": 2.0, "step": 15}, r"step=15: must be one of \[10, 20\] in "),
    ],
)
def test_a_run_that_is_not_there_is_one_line(workdir, arguments, said):
    with pytest.raises(ConfigError, match=f"^{said}"):
        el_jax.load(workdir).params(**arguments)


def test_damage_is_told(workdir):
    largest = max((workdir / "checkpoints" / "20").rglob("*"), key=lambda p: p.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.write_bytes(content)
    run = el_jax.load(workdir)
    with pytest.raises(CheckpointError, match="its SHA-256 is not the one in SHA256SUMS"):
        run.params(0, lam=0.5)
    run.params(0, 10, lam=0.5)


def test_a_folder_that_is_not_there_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert show.main(["nowhere"]) == 2
    assert capsys.readouterr().err == "error: nowhere: no such folder\n"


def test_show_prints_a_line_for_each_run_and_draws(workdir, capsys):
    before = {p: p.read_bytes() for p in workdir.rglob("*") if p.is_file()}
    assert show.main([str(workdir)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("step 20 of 20")
    assert lines[1].split()[:3] == ["run", "seed", "lam"]
    assert len(lines) == 2 + 4 + 1
    assert (workdir / "curves.png").stat().st_size > 10_000
    assert all(path.read_bytes() == content for path, content in before.items())


def test_show_has_the_numbers_of_probes(workdir, capsys):
    rows = (workdir / "metrics.jsonl").read_text().splitlines()
    probed = {"swap_copies": [0.25, 0.5, 0.0, 1.0], "fisher_trace_sem": [1.0] * 4}
    rows[-1] = json.dumps(json.loads(rows[-1]) | probed)
    (workdir / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    assert show.main([str(workdir)]) == 0
    head, *runs = capsys.readouterr().out.splitlines()[1:6]
    assert head.split()[-2:] == ["swap", "copies"]
    assert [run.split()[-1] for run in runs] == ["0.250", "0.500", "0.000", "1.000"]


def test_show_draws_the_first_row(workdir, capsys):
    first, _ = (workdir / "metrics.jsonl").read_text().splitlines(keepends=True)
    (workdir / "metrics.jsonl").write_text(first)
    assert show.main([str(workdir)]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("step 10 of 20")
    assert (workdir / "curves.png").stat().st_size > 10_000


def test_show_says_which_numbers_are_of_an_earlier_row(workdir, capsys):
    first, last = map(json.loads, (workdir / "metrics.jsonl").read_text().splitlines())
    last = {"step": 20, "batch_loss": [None, None, 3.0, None]}  # three runs were not finite
    (workdir / "metrics.jsonl").write_text(f"{json.dumps(first)}\n{json.dumps(last)}\n")
    assert show.main([str(workdir)] * 2) == 0
    shown, _, compared = capsys.readouterr().out.partition("\n\n")
    assert re.search(r" loss .* test hard \(10\)", shown.splitlines()[1])
    head, *lines = (re.split("  +", line.strip()) for line in compared.splitlines())
    assert [line[head.index("loss")] for line in lines] == ["nan", "3.000"] * 2
    assert all(line[head.index("test hard")].endswith(" (10)") for line in lines)


def test_rows_that_are_no_json_are_told(workdir, capsys):
    (workdir / "metrics.jsonl").write_text("step 10\n")
    assert show.main([str(workdir)]) == 2
    assert f"error: {workdir}/metrics.jsonl: damaged (" in capsys.readouterr().err


def test_show_compares_workdirs_by_the_keys_in_which_they_differ(workdir, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(workdir, other)
    config = json.loads((other / "config.json").read_text())
    config["optim"]["clip_norm"], config["loss"]["lam"] = 0.5, 9.0  # lam is swept in both
    (other / "config.json").write_text(json.dumps(config))
    assert show.main([str(workdir), str(other)]) == 0
    table = capsys.readouterr().out.partition("\n\n")[2].splitlines()
    assert table[0].split()[:4] == ["workdir", "sweep", "optim.clip_norm", "step"]
    assert len(table) == 1 + 2 * 2  # two values of lam in each
    assert [line.split()[2] for line in table[1:]] == ["0.0", "0.0", "0.5", "0.5"]


def test_a_folder_that_is_no_workdir_is_one_line(tmp_path, capsys):
    assert show.main([str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert "not the workdir of a training" in line


def test_rooms_are_there_when_they_are_used():
    program = "import el_jax, sys; assert 'jax' not in sys.modules; print(el_jax.losses.e1)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.startswith("<function e1 "), done.stderr
    assert {"losses", "linear_ntp", "load", "tasks"} <= set(dir(el_jax))
    with pytest.raises(AttributeError, match="no attribute 'loses'; it has build, "):
        el_jax.loses  # noqa: B018


def test_a_mistyped_config_need_not_wait_for_what_a_training_uses_later():
    later = ("pandas", "scipy.optimize", "orbax", "tensorflow_datasets", "matplotlib", "tokenizers")
    program = f"import el_jax.train, sys; print([m for m in {later} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def trained_in(workdir, *flags, updates=20):
    pace = trainings.pace(updates, log_every=10, eval_every=10, checkpoint_every=10)
    return trainings.trained_here(workdir, *trainings.TINY, *pace, *flags)


CONSTANT = "--config.optim.schedule=constant"


def test_a_training_at_a_constant_rate_may_be_made_longer(tmp_path):
    for updates in (20, 40):
        trained_in(tmp_path / "grown", CONSTANT, updates=updates)
    trained_in(tmp_path / "whole", CONSTANT, "--config.train.keep_checkpoints=0", updates=40)
    assert el_jax.load(tmp_path / "whole").steps == [10, 20, 30, 40]  # all are kept if asked
    grown, whole = (el_jax.load(tmp_path / name) for name in ("grown", "whole"))
    assert grown.config.train.num_updates == 40
    jax.tree.map(np.testing.assert_array_equal, grown.params(0), whole.params(0))
    with pytest.raises(ConfigError, match=r"^config\.train\.num_updates=20: must be at least 40"):
        trained_in(tmp_path / "grown", CONSTANT, updates=20)
    assert el_jax.load(tmp_path / "grown").config.train.num_updates == 40


def test_a_training_starts_from_the_parameters_of_another(workdir, tmp_path):
    config = el_jax.load(workdir).config.copy_and_resolve_references()
    config.unlock()
    config.loss.lam, config.seed = 4.0, 7
    program = build.build(build.parse(config)).program
    state = start_from(str(workdir), program)
    before = el_jax.load(workdir)
    for run, numbers in enumerate(before.runs):
        theirs = before.params(numbers["seed"], lam=numbers["lam"])
        ours = jax.tree.map(lambda leaf, run=run: leaf[run], state.params)
        jax.tree.map(np.testing.assert_array_equal, ours, theirs)
    fresh = program.init()
    assert int(state.step) == 0
    jax.tree.map(np.testing.assert_array_equal, state.opt_state, fresh.opt_state)
    program.advance(state, 10)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--config.train.seeds=3"], "has 4 runs, where one or 3 can be started from"),
        (
            ["--config.train.seeds=4", "--config.model.mlp_width=24"],
            "mlp/in/bias is float32[4, 32], where this model has",
        ),
    ],
)
def test_parameters_that_do_not_fit_are_refused(workdir, tmp_path, flags, said):
    start = re.escape(f"config.train.init_from={str(workdir)!r}: ")
    with pytest.raises(ConfigError, match=f"^{start}.*{re.escape(said)}[^\n]*$"):
        trained_in(tmp_path / "next", *flags, f"--config.train.init_from={workdir}")


def test_a_file_of_ones_own_that_is_gone_is_named(workdir, tmp_path):
    config = json.loads((workdir / "config.json").read_text())
    (workdir / "config.json").write_text(json.dumps(config | {"imports": ["gone.py"]}))
    said = (
        rf"^--import='gone\.py': there is no such file in .*; {workdir}/config\.json says imports="
    )
    with pytest.raises(ConfigError, match=rf"{said}gone\.py: put the file back there, or start in"):
        el_jax.load(workdir).settings  # noqa: B018
