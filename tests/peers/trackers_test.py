"""Trainings logged by trackio and Weights & Biases themselves:  bash tests/run.sh --peers"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from tests.trainings import ROOT

pytestmark = pytest.mark.peers
TRAIN = ("-m", "el_jax.train", f"--config={ROOT}/configs/el/copy.py:smoke")


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder with both packages."""
    folder = tmp_path_factory.mktemp("packages")
    pip = [sys.executable, "-m", "pip", "install", "-q", f"--target={folder}"]
    subprocess.run([*pip, "trackio", "wandb"], check=True)
    return folder


def train(packages, folder, tracker):
    """A training whose tracker writes below a folder."""
    own = {"PYTHONPATH": f"{ROOT}:{packages}", "TRACKIO_DIR": str(folder / "trackio")}
    own |= {"WANDB_MODE": "offline", "WANDB_DIR": str(folder), "WANDB_PROJECT": "margins"}
    command = [sys.executable, *TRAIN, f"--config.train.tracker={tracker}"]
    command.append(f"--workdir={folder}/run")
    subprocess.run(command, check=True, env=os.environ | own, cwd=folder)
    rows = (folder / "run" / "metrics.jsonl").read_text().splitlines()
    return [json.loads(row) for row in rows]


def test_trackio_has_a_run_for_each_seed_with_the_rows_of_metrics_jsonl(packages, tmp_path):
    expected = {}
    for _ in range(2):  # the second in a new folder of the same name: runs of its own
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        rows = train(packages, tmp_path, "trackio")
        mark = (tmp_path / "run" / "tracker.txt").read_text()
        expected |= {
            (f"run-{mark}, seed={seed}", row["step"]): pytest.approx(row["batch_ce"][seed])
            for row in rows
            for seed in range(2)
        }
    with sqlite3.connect(tmp_path / "trackio" / "margins.db") as database:
        logged = database.execute("select run_name, step, metrics from metrics").fetchall()
    found = {(name, step): json.loads(metrics)["batch_ce"] for name, step, metrics in logged}
    assert found == expected
    assert len(found) == len(logged) == 4 * len(rows)


def test_wandb_has_a_run_for_each_seed(packages, tmp_path):
    train(packages, tmp_path, "wandb")
    assert len([*tmp_path.glob("wandb/offline-run-*/*.wandb")]) == 2
