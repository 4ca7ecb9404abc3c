"""A run that cannot start ends in one line: the field, its value and the allowed values."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import el_jax
from configs.el.copy import get_config
from configs.linear_ntp.random import get_config as random_problem_config
from el_jax import build
from el_jax.config import linear_ntp
from el_jax.process import errors, launch
from el_jax.process.errors import ConfigError

ROOT = pathlib.Path(__file__).parents[2]


def test_configs_of_the_other_command_are_told_apart():
    with pytest.raises(ConfigError, match=r"python -m el_jax\.analyze_ntp"):
        build.parse(random_problem_config())
    with pytest.raises(ConfigError, match=r"python -m el_jax\.train"):
        linear_ntp.parse(get_config("smoke"))


def launched(*arguments, cwd=ROOT):
    command = [sys.executable, "-m", "el_jax.train", *arguments, "--workdir=unused"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)


def test_a_loss_of_ones_own_without_declared_numbers_is_one_line(tmp_path):
    bare = "from el_jax.losses import TOKEN_LOSSES\nTOKEN_LOSSES['bare'] = lambda s, *, x: s"
    (tmp_path / "own.py").write_text(bare)
    done = launched(f"--import={tmp_path}/own.py", "--config=configs/el/copy.py:loss=bare,smoke")
    assert done.returncode == errors.USAGE
    (line,) = done.stderr.splitlines()
    assert "its parameter x must be declared" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--config=configs/el/copy.py:smoke"], ["--workdir", "missing"]),
        (
            ["--config", "configs/el/copy.py", "--workdir=unused", "--config.optim.lr", "1"],
            ["config.optim.lr: unknown key", "peak_lr"],
        ),
        (
            ["--config=configs/el/copy.py:smoke", "--workdir=/proc/none/here"],
            ["--workdir=/proc/none/here"],
        ),
    ],
)
def test_bad_command_line_is_one_line_and_exit_code_2(arguments, words, tmp_path):
    command = [sys.executable, "-m", "el_jax.train", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == errors.USAGE
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert all(word in line for word in words)
    assert not (ROOT / "unused").exists()


def test_a_model_too_big_for_memory_is_one_line_and_leaves_no_config(tmp_path):
    command = [sys.executable, "-m", "el_jax.train", "--config=configs/el/copy.py:smoke"]
    command += ["--config.model.width=100000", f"--workdir={tmp_path}"]
    limited = ["bash", "-c", 'ulimit -v 40000000; exec "$@"', "-", *command]
    done = subprocess.run(limited, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == errors.NO_ROOM
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: memory: at least 6.7")
    assert "available" in line
    assert "model.width" in line
    assert not (tmp_path / "config.json").exists()


def test_help_says_how_to_call(tmp_path):
    command = [sys.executable, "-m", "el_jax.train", "--help"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--config=FILE" in done.stdout
    assert "--workdir=FOLDER" in done.stdout
    for known in ("configs/el/copy.py", "e1, e2, e3", "lstm", "gpt_neox", "adamw", "swap"):
        assert known in done.stdout


_COUNTING = """
import pathlib
from ml_collections import ConfigDict

def get_config(arg=None):
    with pathlib.Path({log!r}).open("a") as file:
        file.write(f"{{arg}} ")
    return ConfigDict({{"seed": 0, "train": {{"rate": 0.5}}}})
"""


def test_a_config_file_is_executed_once_and_overridden_by_type(tmp_path):
    log, file = tmp_path / "log", tmp_path / "counting.py"
    file.write_text(_COUNTING.format(log=str(log)))
    given = [f"--config={file}:some", "--config.train.rate=2", f"--workdir={tmp_path / 'run'}"]
    config, workdir = launch.command_line(["train", *given])
    assert log.read_text() == "some "
    assert (config.seed, config.train.rate, workdir) == (0, 2.0, tmp_path / "run")
    assert type(config.train.rate) is float
    assert config.is_locked


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--confg=configs/el/copy.py"], "--confg: unknown flag; did you mean --config?"),
        (["--config=configs/el/cpoy.py"], "did you mean configs/el/copy.py?"),
        (["--config=configs/el/copy.py:smoke,los=e1"], "did you mean 'loss'?"),
        (
            ["--config=configs/el/copy.py:smoke", "--config.train.seeds=2.5"],
            "config.train.seeds='2.5': must be an integer",
        ),
        ([], "--config: missing; for example --config=configs/el/copy.py:smoke"),
    ],
)
def test_a_slip_of_the_fingers_is_answered_with_what_was_meant(argv, said, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigError) as raised:
        launch.command_line(["train", *argv, "--workdir=unused"])
    assert said in str(raised.value)


def test_a_file_of_ones_own_that_fails_is_named_with_its_line(tmp_path):
    (tmp_path / "own.py").write_text("x = 1\nbadd\n")
    argv = [f"--import={tmp_path / 'own.py'}", "--config=configs/el/copy.py:smoke"]
    with pytest.raises(ConfigError, match=r"'badd' is not defined \(.*own.py, line 2\)$"):
        launch.command_line(["train", *argv, "--workdir=unused"])


def test_the_package_as_a_command_prints_its_map():
    done = subprocess.run(
        [sys.executable, "-m", "el_jax"], cwd=ROOT, capture_output=True, text=True
    )
    modules = (ROOT / "el_jax").glob("[!_]*.py")
    mains = {path.stem for path in modules if '__name__ == "__main__"' in path.read_text()}
    assert "train" in mains
    assert set(re.findall(r"^ +python -m el_jax\.(\w+) ", done.stdout, re.MULTILINE)) == mains
    assert done.stdout == f"{el_jax.__doc__}\n"  # which help(el_jax) shows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "has no function get_config"),
        ("def get_config():\n    return 3", "its get_config must return a ConfigDict"),
        ("def get_config():\n    raise KeyError('lam')", r"KeyError: 'lam' \(.*own.py, line 2\)"),
    ],
)
def test_a_config_file_of_ones_own_is_called_without_an_argument(text, said, tmp_path):
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(ConfigError, match=said):
        launch.command_line(["train", f"--config={tmp_path}/own.py", "--workdir=unused"])
