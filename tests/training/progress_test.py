"""The progress line is readable, and a training outlives its reader."""

import io
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

from el_jax.training.progress import (
    BarProgress,
    LineProgress,
    describe_reached,
    headline,
    sweep_points,
    watched,
)

ROOT = pathlib.Path(__file__).parents[2]
WATCHED = watched(["test"], ["easy", "hard"])
ROW = {"batch_loss": np.array([1.25, np.nan]), "test_hard_accuracy": np.array([0.5, 1.0])}

# in a child process: watched work
_WORK = """
import pathlib, sys, time
import numpy as np
from el_jax.training.progress import progress

watched = progress("e1", 40, {"test_hard_accuracy": "test hard"})
for step in range(1, 41):
    watched.write(step, {"test_hard_accuracy": np.ones(1)})
    time.sleep(0.05)
watched.close()
print("done")
pathlib.Path(sys.argv[1]).write_text(str(step))
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


def test_sweep_points_are_kept_apart():
    runs = [{"seed": seed, "margin": m, "peak_lr": 0.1} for m in (1.0, 2.0) for seed in (0, 1)]
    points = sweep_points(runs)
    assert points == {"margin=1": [0, 1], "margin=2": [2, 3]}
    row = {"batch_loss": np.array([1.0, 1.2, 4.0, np.nan])}
    assert headline(row, WATCHED, points) == "loss 1.100 / 4.000"
    many = {f"margin={place}": [place] for place in range(4)}
    assert headline(row, WATCHED, many) == "loss 1.000 to 4.000"
    assert headline(row, WATCHED, sweep_points(runs[:2])) == "loss 1.100"


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ([np.nan, np.nan], "no run reached train.stop_at_ce=0.1"),
        ([30, np.nan], "1 of 2 runs reached train.stop_at_ce=0.1, after 30 updates"),
        ([50, 20], "2 of 2 runs reached train.stop_at_ce=0.1, after 20 to 50 updates"),
    ],
)
def test_the_last_screen_says_which_runs_reached_a_level(steps, line):
    assert describe_reached(0.1, np.array(steps)) == line


@pytest.mark.parametrize("width", [60, 200])
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
        [sys.executable, "-c", _WORK, result],
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
    assert result.read_text() == "40"
