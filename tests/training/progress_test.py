"""The progress line is readable, and a training outlives its reader."""

import io
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from rich.console import Console

from el_jax.training.progress import BarProgress, LineProgress, headline, sweep_points, watched

ROOT = pathlib.Path(__file__).parents[2]
WATCHED = watched(["test"], ["easy", "hard"])
ROW = {"batch_loss": np.array([1.25, np.nan]), "test_hard_accuracy": np.array([0.5, 1.0])}

# in a child process: watched work, which goes on until it is done or told to stop
_WORK = """
import fcntl, os, pathlib, signal, sys, termios, time
import numpy as np
from el_jax.training.progress import progress
from el_jax.process.stop import StopSignal

if os.isatty(0):
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # the terminal whose closing it hears of
signal.signal(signal.SIGHUP, getattr(signal, sys.argv[2]))
stop = StopSignal()
stopped = stop()
num_steps = int(sys.argv[3])
watched = progress("e1", num_steps, {"test_hard_accuracy": "test hard"})
for step in range(1, num_steps + 1):
    watched.write(step, {"test_hard_accuracy": np.ones(1)})
    time.sleep(0.05)
    if stopped := stop():
        break
watched.close()
print("done")
pathlib.Path(sys.argv[1]).write_text(f"{step} {stopped}")
"""


def test_plain_lines_at_evaluations(capsys):
    lines = LineProgress("e1", 100, 0, WATCHED)
    lines.write(10, {"batch_loss": np.array([2.0])})  # no evaluation: too soon to print
    lines.write(20, ROW)
    compiling, printed = capsys.readouterr().out.splitlines()
    assert compiling.startswith("e1  0/100  compiling (the first time only")
    assert "20/100" in printed
    assert "test hard 0.750" in printed
    assert "s left" in printed


def test_lines_of_many_runs_come_with_time_and_at_the_end(capsys, monkeypatch):
    clock = iter([0.0, 1.0, 31.0, 32.0, 33.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    lines = LineProgress("all", 100, 0, WATCHED, at_evaluations=False)
    for step in (20, 40, 60, 100):
        lines.write(step, ROW)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1] for line in printed] == ["0/100", "40/100", "100/100"]


def test_time_left_is_of_the_pace_after_the_compilation(capsys, monkeypatch):
    clock = iter([0.0, 60.0, 62.0])  # made, first row, second row
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    lines = LineProgress("e1", 100, 0, WATCHED)
    lines.write(20, ROW)
    lines.write(40, ROW)
    _, first, second = capsys.readouterr().out.splitlines()
    assert "left" not in first
    assert second.endswith("  6 s left")


def test_sweep_points_are_kept_apart():
    runs = [{"seed": seed, "margin": m, "peak_lr": 0.1} for m in (1.0, 2.0) for seed in (0, 1)]
    points = sweep_points(runs)
    assert points == {"margin=1": [0, 1], "margin=2": [2, 3]}
    row = {"batch_loss": np.array([1.0, 1.2, 4.0, np.nan])}
    assert headline(row, WATCHED, points) == "loss 1.100 / 4.000"
    many = {f"margin={place}": [place] for place in range(4)}
    assert headline(row, WATCHED, many) == "loss 1.000 to 4.000"
    assert headline(row, WATCHED, sweep_points(runs[:2])) == "loss 1.100"


def test_lines_say_which_setting_they_are_of(capsys):
    LineProgress("all", 100, 0, WATCHED, at_evaluations=False).write(100, ROW, "e2, seed 3")
    assert "e2, seed 3: loss 1.250" in capsys.readouterr().out


def test_bar_on_a_terminal():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=160)
    bar = BarProgress("e1", 100, 0, WATCHED, console)
    bar.write(40, ROW)
    bar.close()
    assert "40/100" in screen.getvalue()
    assert "loss 1.250" in screen.getvalue()
    assert "test hard 0.750" in screen.getvalue()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_narrow_terminal_keeps_count_and_time_left(width):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width)
    title = "generalised_cross_entropy, 20 runs on NVIDIA A100-SXM4-80GB"
    bar = BarProgress(title, 20_000, 0, WATCHED, console)
    assert "compi" in screen.getvalue() or width < 80
    bar.write(4_000, ROW)
    bar.write(8_000, ROW)
    bar.close()
    shown = re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", screen.getvalue()).strip().splitlines()[-1]
    shown = shown.split("\r")[-1]
    assert re.search(r" 8000/20000 0:00:0\d left 0:00:0\d ", shown), shown
    assert len(shown.rstrip()) <= width


def test_a_pipe_that_nobody_reads_any_more_ends_the_lines_and_not_the_work(tmp_path):
    result = tmp_path / "result"
    child = subprocess.Popen(
        [sys.executable, "-c", _WORK, result, "SIG_DFL", "40"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert "compiling" in child.stdout.readline()
    assert "1/40" in child.stdout.readline()
    child.stdout.close()
    with child:
        errors = child.stderr.read()
    assert child.returncode == 0
    assert errors == "warning: nobody reads standard output any more; going on\n"
    assert result.read_text() == "40 None"


@pytest.mark.parametrize("hangup", ["SIG_DFL", "SIG_IGN"])
def test_a_terminal_that_is_closed_stops_the_work_unless_it_was_started_with_nohup(
    tmp_path, hangup
):
    result, num_steps = tmp_path / "result", 40 if hangup == "SIG_IGN" else 10**5
    terminal, own_end = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", _WORK, result, hangup, str(num_steps)],
        cwd=ROOT,
        stdin=own_end,
        stdout=own_end,
        stderr=own_end,
        start_new_session=True,
    )
    os.close(own_end)
    seen = b""
    while f"/{num_steps}".encode() not in seen:
        seen += os.read(terminal, 1000)
    os.close(terminal)
    assert child.wait(300) == 0
    step, stopped = result.read_text().split()
    if hangup == "SIG_DFL":
        assert int(step) < num_steps
        assert int(stopped) == signal.SIGHUP
    else:
        assert (step, stopped) == ("40", "None")
