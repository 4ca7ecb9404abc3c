"""A workdir belongs to one process at a time and to one config for ever."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from configs.el.copy import get_config
from el_jax import build
from el_jax.process.errors import ConfigError, WorkdirBusyError
from el_jax.workdir import check_workdir, claim_workdir, hold, origin

ROOT = pathlib.Path(__file__).parents[1]


def opened(workdir, config, *argv):
    runs = build.parse(config).rows
    resolved = json.loads(config.to_json_best_effort())
    check_workdir(workdir, resolved)
    claim_workdir(workdir, resolved, runs, ["train", *argv])


def test_workdir_of_another_config_is_refused_and_left_alone(tmp_path):
    config = get_config("loss=e1,smoke")
    opened(tmp_path, config)
    (tmp_path / "metrics.jsonl").write_text('{"step": 50}\n')
    before = (tmp_path / "config.json").read_text()
    opened(tmp_path, config)  # the same: fine
    config.loss.lam = 3.0
    config.optim.peak_lr = 0.5
    with pytest.raises(ConfigError) as raised:
        opened(tmp_path, config)
    assert "loss.lam: 2.0 -> 3.0" in str(raised.value)
    assert "optim.peak_lr: 0.003 -> 0.5" in str(raised.value)
    assert (tmp_path / "config.json").read_text() == before


def test_a_workdir_without_a_row_or_a_checkpoint_may_be_had_by_another_config(tmp_path):
    opened(tmp_path, get_config("loss=e1,smoke"))
    (tmp_path / "metrics.jsonl").touch()
    (tmp_path / "checkpoints").mkdir()
    opened(tmp_path, get_config("loss=e2,smoke"))
    assert json.loads((tmp_path / "config.json").read_text())["loss"]["name"] == "e2"


@pytest.mark.parametrize("left", ["analysis.npz", "trajectory.csv"])
def test_a_training_does_not_take_the_workdir_of_an_analysis(tmp_path, left):
    opened(tmp_path, get_config("loss=e1,smoke"))
    (tmp_path / left).touch()
    with pytest.raises(ConfigError, match="holds a run with another config"):
        opened(tmp_path, get_config("loss=e2,smoke"))


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff\xfe"])
def test_a_damaged_config_is_one_line(tmp_path, content):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(ConfigError, match=r"config\.json is damaged; delete it"):
        opened(tmp_path, get_config("loss=e1,smoke"))
    assert (tmp_path / "config.json").read_bytes() == content


def test_workdir_explains_itself(tmp_path):
    opened(tmp_path, get_config("loss=e1,smoke"), "--x")
    assert json.loads((tmp_path / "config.json").read_text())["loss"]["lam"] == 2.0
    runs = json.loads((tmp_path / "runs.json").read_text())
    assert [run["seed"] for run in runs] == [0, 1]
    environment = json.loads((tmp_path / "environment.json").read_text())
    assert environment["command"] == "train --x"
    assert set(environment["versions"]) >= {"python", "jax", "flax", "optax"}
    assert environment["hardware"]["platform"] == "cpu"
    assert environment["hardware"]["processor"]


def test_files_of_the_task_belong_to_what_a_training_came_from(tmp_path):
    text = tmp_path / "text"
    text.mkdir()
    (text / "a.txt").write_text("one")
    task = {"source": str(text), "name": "text", "world": {"name": "pcfg"}}
    before = origin((), task)
    assert before["files"].startswith(f"{text} ")
    assert origin((), task) == before
    (text / "a.txt").write_text("two")
    assert origin((), task) != before
    assert "files" not in origin((), {"name": "copy"})


_HOLDER = """
import pathlib, sys, time
from el_jax.workdir import hold

with hold(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_told_the_first_and_a_killed_one_holds_nothing(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(WorkdirBusyError, match=f"in use by process {holder.pid} on "),
            hold(tmp_path),
        ):
            pass
        holder.send_signal(signal.SIGKILL)
    with hold(tmp_path):
        assert (tmp_path / "lock").read_text().startswith(f"process {os.getpid()} on ")
    with hold(tmp_path):  # let go at the end
        pass


def test_a_read_only_workdir_is_one_line_and_left_alone(tmp_path):
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", tmp_path], capture_output=True).returncode:
        pytest.skip("only root may mount")
    try:
        opened(tmp_path, get_config("loss=e1,smoke"))
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        subprocess.run(["mount", "-o", "remount,ro", tmp_path], check=True)
        with (
            pytest.raises(ConfigError, match=r"cannot be written \(Read-only file system\)"),
            hold(tmp_path),
        ):
            pass
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    finally:
        subprocess.run(["umount", tmp_path], check=True)
