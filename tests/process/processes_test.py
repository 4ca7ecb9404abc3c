"""A training on several processes equals the training on one, even if a process fails."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from el_jax.checkpoint_step import verified
from tests import trainings
from tests.trainings import SHORT

ROOT = pathlib.Path(__file__).parents[2]


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def start(command, count, devices=1):
    """Start ``count`` processes of ``devices`` each."""
    own = os.environ["XLA_FLAGS"]
    flags = {"XLA_FLAGS": f"{own} --xla_force_host_platform_device_count={devices}"}
    joined = [f"--coordinator=localhost:{free_port()}", f"--num_processes={count}"]
    return [
        subprocess.Popen(
            [*command, *([*joined, f"--process_id={i}"] if count > 1 else [])],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | flags,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(count)
    ]


def finish(started):
    """Exit code, output and errors of each process."""
    printed = [process.communicate(timeout=600) for process in started]
    return [(p.returncode, *texts) for p, texts in zip(started, printed, strict=True)]


# ── trainings, by the command line ───────────────────────────────────────────────────────────────

NUM_UPDATES = 300  # long enough to be stopped midway
TRAIN = [
    *(sys.executable, "-m", "el_jax.train", "--config=configs/el/copy.py:loss=e1,smoke"),
    *("--config.model.width=8", "--config.model.num_layers=1", "--config.task.padding_length=4"),
    *("--config.train.seeds=4", "--config.model.residual_dropout=0.1"),
]
# one run after the other, so that the bits do not depend on the number of runs on a device
LONG = [
    *trainings.pace(NUM_UPDATES, log_every=5, eval_every=20, checkpoint_every=20),
    "--config.train.run_axis=map",
]


def train(workdir, *flags, count=1, devices=1):
    return start([*TRAIN, *flags, f"--workdir={workdir}"], count, devices)


def completed(workdir, *flags, **where):
    """Standard output of each process of a training that must succeed."""
    done = finish(train(workdir, *flags, **where))
    for code, out, err in done:
        assert code == 0, out + err
    return [out for _, out, _ in done]


def metrics(workdir):
    return [json.loads(line) for line in (workdir / "metrics.jsonl").read_text().splitlines()]


def assert_close_rows(workdir, reference, names):
    for row, expected in zip(metrics(workdir), metrics(reference), strict=True):
        assert row.keys() == expected.keys()
        for name in names:
            np.testing.assert_allclose(row[name], expected[name], rtol=1e-4, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("shard", ["runs", "data"])
def test_two_processes_of_two_devices_are_one(tmp_path, shard):
    flags = [*SHORT, "--config.model.residual_dropout=0.0", f"--config.train.shard={shard}"]
    completed(tmp_path / "one", *flags)
    first, second = completed(tmp_path / "many", *flags, devices=2, count=2)
    assert f"{shard} by jit" in first
    assert "done" in first
    assert "done" not in second
    assert [row["step"] for row in metrics(tmp_path / "many")] == [10, 20]
    watched = ("batch_loss", "test_ce", "batch_grad_norm")
    assert_close_rows(tmp_path / "many", tmp_path / "one", watched)
    kept, wanted = trainings.arrays(tmp_path / "many"), trainings.arrays(tmp_path / "one")
    assert kept.keys() == wanted.keys()
    assert all(kept[name].dtype == wanted[name].dtype for name in kept)


def wait_for_checkpoint(workdir, started):
    deadline = time.monotonic() + 300
    while not trainings.steps(workdir):
        assert all(process.poll() is None for process in started), finish(started)
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
def test_stopped_by_one_they_save_and_any_number_goes_on_bit_for_bit(tmp_path):
    whole, workdir, copy = (tmp_path / name for name in ("whole", "many", "copy"))
    completed(whole, *LONG, count=2, devices=2)
    started = train(workdir, *LONG, count=2, devices=2)
    wait_for_checkpoint(workdir, started)
    started[1].send_signal(signal.SIGTERM)
    for code, _, err in finish(started):
        assert code == 128 + signal.SIGTERM
        (line,) = err.splitlines()
        assert line.startswith("error: stopped by SIGTERM after ")
        assert line.endswith("; saved")
    assert trainings.steps(workdir)[-1] < NUM_UPDATES
    shutil.copytree(workdir, copy)
    completed(workdir, *LONG, count=2, devices=2)
    assert not trainings.differences(workdir, whole)
    assert len(trainings.steps(workdir)) == 2  # older ones are gone
    completed(copy, *LONG)  # here an evaluation sums in another order
    assert trainings.differences(copy, whole) in ([], ["metrics.jsonl"])
    assert_close_rows(copy, whole, metrics(copy)[0].keys())
    # and from one process to two
    shutil.rmtree(copy / "checkpoints" / str(NUM_UPDATES))
    completed(copy, *LONG, count=2)
    assert trainings.differences(copy, whole) in ([], ["metrics.jsonl"])


@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
def test_where_one_is_killed_the_other_ends_within_a_minute(tmp_path, killed):
    workdir = tmp_path / "many"
    endless = trainings.pace(10**7, log_every=10, eval_every=10**7, checkpoint_every=10)
    started = train(workdir, *endless, count=2)
    wait_for_checkpoint(workdir, started)
    started[killed].kill()
    begun = time.monotonic()
    code, _, err = finish(started)[1 - killed]
    assert time.monotonic() - begun < 60
    assert code != 0, err
    for step in trainings.steps(workdir):
        verified(workdir / "checkpoints" / str(step))


@pytest.mark.slow
def test_who_reaches_nobody_ends_within_a_minute(tmp_path):
    flags = [f"--coordinator=localhost:{free_port()}", "--num_processes=2", "--process_id=1"]
    command = [*TRAIN, *SHORT, f"--workdir={tmp_path}", "--join_timeout=5", *flags]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60)
    assert done.returncode != 0


@pytest.mark.slow
def test_configs_that_differ_are_refused(tmp_path):
    port = free_port()
    command = [*TRAIN, *SHORT, f"--workdir={tmp_path}", f"--coordinator=localhost:{port}"]
    started = [
        subprocess.Popen(
            [*command, "--num_processes=2", f"--process_id={i}", f"--config.seed={i}"],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    done = finish(started)
    assert all(code != 0 for code, _, _ in done)
    assert any("--config: must be the same on all processes" in err for _, _, err in done)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--coordinator=localhost:1"], "Number of processes must be defined."),
        (
            ["--coordinator=localhost:1", "--num_processes=2", "--process_id=2"],
            "process_id < num_processes. Got process_id=2, num_processes=2.",
        ),
    ],
)
def test_flags_that_do_not_go_together_are_one_line(tmp_path, flags, message):
    command = [*TRAIN, f"--workdir={tmp_path}", *flags]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: cannot join the other processes (")
    assert message in line
