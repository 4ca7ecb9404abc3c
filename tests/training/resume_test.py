"""A run that was killed, or told to stop, ends bit for bit where an uninterrupted one does."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from orbax.checkpoint import v1 as ocp

ROOT = pathlib.Path(__file__).parents[2]
NUM_UPDATES = 600
# tiny, but long enough to be killed in the midst of it
CONFIG = [
    "--config=configs/el/copy.py:loss=e1,smoke",
    f"--config.train.num_updates={NUM_UPDATES}",
    "--config.train.checkpoint_every=40",
    "--config.train.log_every=20",
    "--config.train.eval_every=40",
    "--config.model.width=8",
    "--config.model.num_layers=1",
    "--config.model.residual_dropout=0.1",  # randomness must resume too
]


def start(workdir):
    command = [sys.executable, "-m", "el_jax.train", *CONFIG, f"--workdir={workdir}"]
    return subprocess.Popen(
        command, cwd=ROOT, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err


def wait_for_checkpoint(process, workdir):
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        assert process.poll() is None, f"ended before it could be stopped: {process.communicate()}"
        steps = [p.name for p in (workdir / "checkpoints").glob("*") if p.name.isdigit()]
        if steps:
            return
        time.sleep(0.002)
    raise AssertionError("no checkpoint appeared")


def final_state(workdir):
    with (
        warnings.catch_warnings(),
        ocp.training.Checkpointer(workdir / "checkpoints") as checkpointer,
    ):
        warnings.simplefilter("ignore")  # orbax advises to say where arrays go; here: anywhere
        assert int(checkpointer.latest.step) == NUM_UPDATES
        loaded = checkpointer.load_checkpointables(NUM_UPDATES)
    flat = {}
    stack = [((), loaded["state"])]
    while stack:
        path, node = stack.pop()
        if isinstance(node, dict):
            stack += [((*path, k), v) for k, v in node.items()]
        elif isinstance(node, list | tuple):
            stack += [((*path, str(i)), v) for i, v in enumerate(node)]
        elif node is not None:
            flat[path] = np.asarray(node)
    return flat


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    workdir = tmp_path_factory.mktemp("uninterrupted")
    finish(start(workdir))
    return workdir


def assert_same(workdir, reference):
    ours, theirs = final_state(workdir), final_state(reference)
    assert ours.keys() == theirs.keys()
    assert len(ours) > 20
    for path, value in ours.items():
        np.testing.assert_array_equal(value, theirs[path], err_msg=str(path))
    rows = (workdir / "metrics.jsonl").read_bytes()
    assert rows == (reference / "metrics.jsonl").read_bytes()
    steps = [json.loads(row)["step"] for row in rows.splitlines()]
    assert steps == list(range(20, NUM_UPDATES + 1, 20))


def test_killed_run_resumes_bit_for_bit(tmp_path, uninterrupted):
    process = start(tmp_path)
    wait_for_checkpoint(process, tmp_path)
    process.kill()
    process.communicate()
    finish(start(tmp_path))
    assert_same(tmp_path, uninterrupted)


def test_terminated_run_saves_and_resumes_bit_for_bit(tmp_path, uninterrupted):
    process = start(tmp_path)
    wait_for_checkpoint(process, tmp_path)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert err.startswith("error: stopped by SIGTERM after ")
    finish(start(tmp_path))
    assert_same(tmp_path, uninterrupted)


def test_finished_run_is_left_alone(uninterrupted):
    before = (uninterrupted / "metrics.jsonl").read_bytes()
    finish(start(uninterrupted))
    assert (uninterrupted / "metrics.jsonl").read_bytes() == before
