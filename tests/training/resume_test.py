"""A run that was killed or stopped, and then resumed, equals an uninterrupted one bit for bit."""

import os
import random
import shutil
import signal
import time

import pytest

from el_jax.checkpoint_step import verified
from tests import trainings

NUM_UPDATES = 600
# long enough to be stopped midway
ARGUMENTS = trainings.pace(NUM_UPDATES, log_every=20, eval_every=40, checkpoint_every=40)


def start(workdir, **environment):
    return trainings.start(workdir, *ARGUMENTS, **environment)


def finished(workdir, **environment):
    return trainings.trained(workdir, *ARGUMENTS, **environment)


def started(workdir, **environment):
    """Start a training and wait for its first checkpoint; the process goes on."""
    before, deadline = trainings.steps(workdir), time.monotonic() + 240
    process = start(workdir, **environment)
    while trainings.steps(workdir) == before:
        assert process.poll() is None, f"ended too early: {trainings.errors(workdir)}"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    return process


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("resume") / "uninterrupted")


def test_killed_run_resumes_bit_for_bit_on_another_number_of_devices(tmp_path, uninterrupted):
    def devices(count):
        flags = os.environ["XLA_FLAGS"]
        return {"XLA_FLAGS": f"{flags} --xla_force_host_platform_device_count={count}"}

    workdir = tmp_path / "run"
    process = started(workdir, **devices(8))
    process.kill()
    process.wait()
    assert not trainings.differences(finished(workdir, **devices(1)), uninterrupted)


def test_run_stopped_twice_saves_on_another_disk_and_resumes_bit_for_bit(tmp_path, uninterrupted):
    workdir, scratch = tmp_path / "run", tmp_path / "scratch" / "deep" / "down"
    scratch.mkdir(parents=True)
    workdir.mkdir()
    (workdir / "checkpoints").symlink_to(scratch)
    for number in (signal.SIGTERM, signal.SIGINT):
        process = started(workdir)
        process.send_signal(number)
        assert process.wait(300) == 128 + number
        assert trainings.errors(workdir).startswith(f"error: stopped by {number.name} after ")
    assert not trainings.differences(finished(workdir), uninterrupted)
    assert trainings.errors(workdir) == ""
    assert (workdir / "checkpoints").is_symlink()


def test_damaged_checkpoint_costs_what_came_after_the_one_before(tmp_path, uninterrupted):
    workdir = tmp_path / "run"
    shutil.copytree(uninterrupted, workdir)
    newest = workdir / "checkpoints" / str(NUM_UPDATES)
    data = max((p for p in newest.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    os.truncate(data, data.stat().st_size - 1)
    finished(workdir)
    (line,) = trainings.errors(workdir).splitlines()
    assert line.startswith(f"warning: checkpoint of step {NUM_UPDATES} is not used: ")
    assert data.name in line
    assert not trainings.differences(workdir, uninterrupted)


def test_finished_run_is_left_alone(uninterrupted):
    before = trainings.rows(uninterrupted)
    finished(uninterrupted)
    assert trainings.rows(uninterrupted) == before
    assert not trainings.errors(uninterrupted)


@pytest.mark.slow
def test_twenty_kills_lose_nothing_that_was_saved(tmp_path, uninterrupted):
    """Half of the kills come at any time, half while a checkpoint is being written."""
    rng, workdir, newest = random.Random(0), tmp_path / "run", 0
    for kill in range(20):
        process = start(workdir)
        if kill % 2:
            while process.poll() is None and not any(workdir.glob("checkpoints/unfinished-*")):
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.03))
        else:
            time.sleep(rng.uniform(0, 12))
        process.kill()
        process.wait()
        for step in trainings.steps(workdir):
            verified(workdir / "checkpoints" / str(step))
        assert max(trainings.steps(workdir), default=0) >= newest
        newest = max(trainings.steps(workdir), default=0)
        if newest == NUM_UPDATES:  # begin another, which has nothing to lose yet
            assert not trainings.differences(workdir, uninterrupted)
            workdir, newest = tmp_path / f"run-{kill}", 0
    assert not trainings.differences(finished(workdir), uninterrupted)


@pytest.mark.slow
def test_a_sweep_stopped_at_any_checkpoint_resumes_bit_for_bit(tmp_path):
    sweep = [
        *trainings.pace(60, log_every=10, eval_every=20, checkpoint_every=20),
        "--config.sweep.loss.lam=(0.5,2.0)",
        "--config.sweep.optim.peak_lr=(1e-3,1e-2)",
        "--config.train.keep_checkpoints=0",
    ]
    whole = trainings.trained(tmp_path / "whole", *sweep)
    for step in (20, 40):
        workdir = tmp_path / str(step)
        shutil.copytree(whole, workdir)
        for later in [made for made in trainings.steps(workdir) if made > step]:
            shutil.rmtree(workdir / "checkpoints" / str(later))
        trainings.trained(workdir, *sweep)
        assert not trainings.differences(workdir, whole)
