"""The command that prints and verifies the checkpoints of a workdir."""

import json

import jax.numpy as jnp
import pytest

from el_jax.checkpoints import __main__ as checkpoint
from el_jax.checkpoints.manifest import config_hash
from el_jax.checkpoints.store import Checkpoints
from el_jax.training.state import Health, TrainState

CONFIG = {"seed": 0}


@pytest.fixture
def workdir(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    with Checkpoints(
        tmp_path / "checkpoints",
        config_sha256=config_hash(CONFIG),
        origin={"jax": "0.10.2", "XLA_FLAGS": "--a=b"},
        groups={"updates": 2},
    ) as checkpoints:
        for step in (3, 6):
            weights = {"kernel": jnp.ones((2, 5)) * step}
            health = Health(*(jnp.arange(i, i + 2) for i in range(4)))
            checkpoints.save(TrainState(jnp.int32(step), weights, (), health))
    return tmp_path


def test_steps_health_and_arrays(workdir, capsys):
    for folder in (workdir, workdir / "checkpoints"):
        assert checkpoint.main(["inspect", str(folder)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[1] for line in lines if line.endswith("  ok")] == ["3", "6"]
        assert "step 6: 6 arrays, 19 numbers" in lines
        words = [line.split() for line in lines]
        assert ["params/kernel", "float32", "[2,", "5]"] in words
        assert ["jax", "0.10.2"] in words
        assert ["XLA_FLAGS", "--a=b"] in words
        assert ["runs", "at", "once,", "updates", "2"] in words


def test_what_is_wrong_is_said_and_nothing_is_touched(workdir, capsys):
    folder = workdir / "checkpoints"
    (folder / "unfinished-9").mkdir()
    (folder / "6" / "arrays" / "commit_success.txt").unlink()
    assert checkpoint.main(["inspect", str(workdir)]) == 4
    printed = capsys.readouterr().out
    assert "DAMAGED  arrays/commit_success.txt: missing" in printed
    assert "unfinished-9: being written" in printed
    assert "step 3: 6 arrays" in printed  # the newest intact one
    assert sorted(path.name for path in folder.iterdir()) == ["3", "6", "unfinished-9"]


def test_checkpoints_of_another_config_are_foreign(workdir, capsys):
    (workdir / "config.json").write_text(json.dumps({"seed": 1}))
    assert checkpoint.main(["inspect", str(workdir)]) == 4
    assert capsys.readouterr().out.count("FOREIGN") == 2


@pytest.mark.parametrize("argv", [[], ["inspect"], ["look", "x"], ["inspect", "nowhere"]])
def test_a_bad_call_is_one_line_and_exit_code_2(argv, capsys):
    assert checkpoint.main(argv) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
