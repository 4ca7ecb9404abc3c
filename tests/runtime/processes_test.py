"""A training on several processes equals the training on one, even if a process fails."""

import contextlib
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

from el_jax.checkpoints import manifest
from el_jax.runtime import processes
from el_jax.runtime.workdir import hold
from tests.campaigns import trainings

ROOT = pathlib.Path(__file__).parents[2]


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def start(command, count, devices=1):
    """Start ``count`` processes of ``devices`` each."""
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
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


# ── what they do together ────────────────────────────────────────────────────────────────────────

_TOGETHER = """
import sys
from absl import flags
import jax, numpy as np
from el_jax.runtime import distributed
from el_jax.runtime import errors, processes
from el_jax.runtime.processes import DifferentError, check_same, from_first, is_first, together

flags.FLAGS(sys.argv)
distributed.start()
this = jax.process_index()

class Unsendable(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")

def met(action):
    try:
        with together():
            action()
    except Exception as error:
        return type(error).__name__, errors.describe(error)

def on(process, error):
    def fail():
        if this == process:
            raise error
    return fail

found = [met(lambda: None)]
for error in (OSError(28, "full", "file"), ValueError("no"), Unsendable(1, 2)):
    found += [met(on(0, error)), met(on(1, error))]
found += [met(lambda: on(this, KeyError(this))())]
numbers = np.array([-0.0, np.nan, 1e-45, 3], np.float32)
processes._BLOCK_BYTES = 7  # so that it takes many
short = numbers.astype("bfloat16")
sent = from_first(lambda: {"array": [numbers, short], "b": "x" * 100} if is_first() else 1 / 0)
found += [sent["array"][0].tobytes() == numbers.tobytes(), sent["b"] == "x" * 100]
found += [(sent["array"][1].dtype.name, sent["array"][1].tobytes() == short.tobytes())]
found += [from_first(lambda: None)]
check_same("--config", {"a": (1, float("nan"))})
try:
    check_same("--config", {"a": this})
except DifferentError as error:
    found += [str(error)]
print(found)
"""


@pytest.mark.slow
def test_what_one_meets_all_raise_and_what_the_first_finds_all_have():
    done = finish(start([sys.executable, "-c", _TOGETHER], 2))
    errors = [("OSError", "file: full"), ("ValueError", "no"), ("Unsendable", "1 and 2")]
    for this, (code, out, err) in enumerate(done):
        assert code == 0, err
        expected = [None]
        for kind, text in errors:  # met on the one, then on the other
            expected += [(kind if this == 0 else "ElsewhereError", text)]
            expected += [(kind if this == 1 else "ElsewhereError", text)]
        expected += [("KeyError" if this == 0 else "ElsewhereError", "0"), True, True]
        expected += [("bfloat16", True), None]
        expected += ["--config: must be the same on all processes; not on process 1"]
        assert out.splitlines()[-1] == str(expected)


@pytest.mark.parametrize(
    "value",
    [None, 1.5, "λ\n", [], {"dict": {}, "list": [1, {"array": [2]}]}, [np.zeros((0, 3), np.int8)]],
)
def test_what_is_sent_is_no_code_and_arrives(value):
    content = processes._encode(value)
    assert isinstance(json.loads(content.partition(b"\n")[0]), type(None) | float | str | dict)
    assert repr(processes._decode(content)) == repr(value)


def test_arrays_arrive_bit_for_bit():
    sent = [np.array([-0.0, np.nan, 1e-45], np.float32), np.array(True), np.arange(6).reshape(2, 3)]
    for before, after in zip(sent, processes._decode(processes._encode(sent)), strict=True):
        assert (before.dtype, before.shape) == (after.dtype, after.shape)
        assert before.tobytes() == after.tobytes()


def test_one_process_has_nobody_to_ask():
    with pytest.raises(ValueError, match="mine"), processes.together():
        raise ValueError("mine")
    assert processes.from_first(lambda: 3) == 3
    processes.check_same("--config", object())


# ── trainings, by the command line ───────────────────────────────────────────────────────────────

NUM_UPDATES = 300  # long enough to be stopped in the midst of it
TRAIN = [
    *(sys.executable, "-m", "el_jax.train", "--config=configs/el/copy.py:loss=e1,smoke"),
    *("--config.model.width=8", "--config.model.num_layers=1", "--config.task.padding_length=4"),
    *("--config.train.seeds=4", "--config.model.residual_dropout=0.1"),
]
SHORT = trainings.pace(20, log_every=10, eval_every=10, checkpoint_every=10)
# run by run, so that the bits do not depend on how many there are on a device
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
    completed(copy, *LONG)  # where an evaluation sums in another order
    assert trainings.differences(copy, whole) in ([], ["metrics.jsonl"])
    assert_close_rows(copy, whole, metrics(copy)[0].keys())
    # and from one process to two
    shutil.rmtree(copy / "checkpoints" / str(NUM_UPDATES))
    completed(copy, *LONG, count=2)
    assert trainings.differences(copy, whole) in ([], ["metrics.jsonl"])


@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
def test_where_one_is_killed_the_other_says_so_and_they_go_on(tmp_path, killed):
    workdir = tmp_path / "many"
    endless = trainings.pace(10**7, log_every=10, eval_every=10**7, checkpoint_every=10)
    started = train(workdir, *endless, count=2)
    wait_for_checkpoint(workdir, started)
    started[killed].kill()
    begun = time.monotonic()
    code, _, err = finish(started)[1 - killed]
    assert time.monotonic() - begun < 30
    assert (code, err) == (6, f"error: process {killed} of 2 is gone\n")
    for step in trainings.steps(workdir):
        manifest.check_files(
            workdir / "checkpoints" / str(step),
            manifest.read(workdir / "checkpoints" / str(step)),
        )


JOIN = [sys.executable, "-m", "el_jax.train", "--config=configs/el/copy.py:smoke"]


def joining(tmp_path, *flags):
    """Start a process that joins others, by the flags."""
    return subprocess.Popen(
        [*JOIN, f"--workdir={tmp_path}", "--join_timeout=8", *flags],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_who_cannot_join_is_told_why_in_one_line_and_in_time(tmp_path):
    with socket.create_server(("", 0)) as taken:
        used, free = taken.getsockname()[1], free_port()
        expected = {
            f"--coordinator=localhost:{used}: cannot listen (Address already in use)": joining(
                tmp_path, f"--coordinator=localhost:{used}", "--num_processes=2", "--process_id=0"
            ),
            f"--coordinator=localhost:{free}: process 0 was not reached within 8 s "
            "(--join_timeout)": joining(
                tmp_path, f"--coordinator=localhost:{free}", "--num_processes=2", "--process_id=1"
            ),
        }
        for line, process in expected.items():
            assert finish([process]) == [(6, "", f"error: {line}\n")]


def test_numbers_of_processes_that_differ_are_one_line(tmp_path):
    coordinator = f"--coordinator=localhost:{free_port()}"
    flags = (("--num_processes=2", "--process_id=0"), ("--num_processes=3", "--process_id=1"))
    for done in finish([joining(tmp_path, coordinator, *given) for given in flags]):
        words = "must be the same on all processes; it is 2 on process 0 and 3 on process 1"
        assert done == (2, "", f"error: --num_processes: {words}\n")


@pytest.mark.slow
def test_what_keeps_the_first_from_its_files_ends_all_with_one_line(tmp_path):
    workdir = tmp_path / "many"
    completed(workdir, *SHORT)
    for changed, expected, words in (
        (["--config.optim.peak_lr=0.5"], 2, "holds a run with another config (optim.peak_lr: "),
        ([], 4, "none of the 2 checkpoints in "),
        ([], 5, f"--workdir={workdir} is in use by "),
    ):
        if expected == 4:
            for step in ("10", "20"):
                (workdir / "checkpoints" / step / manifest.SEAL).unlink()
        with hold(workdir) if expected == 5 else contextlib.nullcontext():
            done = finish(train(workdir, *SHORT, *changed, count=2))
        for number, (code, _, err) in enumerate(done):
            assert code == expected, err
            *warnings, line = err.splitlines()
            assert line.startswith("error: ")
            assert words in line
            assert len(warnings) == (2 if (number, expected) == (0, 4) else 0)


@pytest.mark.slow
@pytest.mark.parametrize("free_kb", [0, 24])  # for the next row, for the next checkpoint
def test_a_full_disk_ends_all_with_one_line(tmp_path, free_kb):
    size = 1 << 21
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", tmp_path]).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        workdir = tmp_path / "many"
        endless = trainings.pace(10**7, log_every=10, eval_every=10**7, checkpoint_every=500)
        started = train(workdir, *endless, count=2)
        wait_for_checkpoint(workdir, started)
        left = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_bsize
        (tmp_path / "ballast").write_bytes(bytes(max(left - (free_kb << 10), 0)))
        for code, _, err in finish(started):
            assert code == 4, err
            (line,) = err.splitlines()
            assert "No space left on device" in line
        newest = workdir / "checkpoints" / str(trainings.steps(workdir)[-1])
        manifest.check_files(newest, manifest.read(newest))
    finally:
        subprocess.run(["umount", tmp_path], check=True)
