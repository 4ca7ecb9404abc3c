"""Trainings in processes of their own, whose files are compared bit for bit."""

import os
import pathlib
import subprocess
import sys
import warnings

import numpy as np
from orbax.checkpoint import v1 as ocp

from el_jax.checkpoint_step import ARRAYS, committed_steps, verified
from el_jax.process import launch
from el_jax.train import train

ROOT = pathlib.Path(__file__).parents[1]
# tiny, and with dropout: randomness must resume too
TINY = (
    "--config=configs/el/copy.py:loss=e1,smoke",
    "--config.model.width=8",
    "--config.model.num_layers=1",
    "--config.train.shard=none",  # split over devices, sums would have another order
    "--config.model.residual_dropout=0.1",
)


def pace(num_updates, log_every, eval_every, checkpoint_every):
    """Flags for the number of updates and the intervals of rows, evaluations and checkpoints."""
    return (
        f"--config.train.num_updates={num_updates}",
        f"--config.train.log_every={log_every}",
        f"--config.train.eval_every={eval_every}",
        f"--config.train.checkpoint_every={checkpoint_every}",
    )


SHORT = pace(20, log_every=10, eval_every=10, checkpoint_every=10)


def start(workdir, *arguments, **environment):
    """Start a training; its output goes to files beside the workdir, since a full pipe blocks."""
    command = [sys.executable, "-m", "el_jax.train", *TINY, *arguments, f"--workdir={workdir}"]
    with (
        open(f"{workdir}.out", "w") as out,
        open(f"{workdir}.err", "w") as err,
    ):
        return subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environment}, stdout=out, stderr=err
        )


def errors(workdir):
    """Standard error of the newest process."""
    return pathlib.Path(f"{workdir}.err").read_text()


def finish(process, workdir, timeout=300):
    """Wait for the process; any exit code but 0 is an error."""
    code = process.wait(timeout)
    assert code == 0, f"exit code {code}: {errors(workdir)}"


def trained(workdir, *arguments, **environment):
    """Train to the end; return the workdir."""
    finish(start(workdir, *arguments, **environment), workdir)
    return workdir


def trained_here(workdir, *arguments):
    """Train as the command does, but in this process, which has imported everything."""
    train(*launch.command_line(["", *arguments, f"--workdir={workdir}"]))
    return workdir


def steps(workdir):
    """Steps of all checkpoints."""
    return committed_steps(workdir / "checkpoints")


def arrays(workdir):
    """Every array of the newest checkpoint by its path, after checking all of its files."""
    folder = workdir / "checkpoints" / str(steps(workdir)[-1])
    about = verified(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # orbax asks where arrays should go; any place will do
        kept = ocp.load_checkpointables(folder / ARRAYS, {"state": None})["state"]
    flat = {}

    def walk(path, node):
        if isinstance(node, dict):
            for name, child in node.items():
                walk((*path, name), child)
        elif isinstance(node, list | tuple):
            for number, child in enumerate(node):
                walk((*path, str(number)), child)
        elif node is not None:
            flat["/".join(path)] = np.asarray(node)

    walk((), kept)
    assert flat.keys() == about["arrays"].keys()
    return flat


def rows(workdir):
    """The content of metrics.jsonl."""
    return (workdir / "metrics.jsonl").read_bytes()


def differences(workdir, reference):
    """Names of the arrays, and of metrics.jsonl, that differ between two finished trainings."""
    ours, theirs = arrays(workdir), arrays(reference)
    different = [
        name
        for name in sorted(ours.keys() | theirs.keys())
        if name not in ours or name not in theirs or ours[name].tobytes() != theirs[name].tobytes()
    ]
    return different + ([] if rows(workdir) == rows(reference) else ["metrics.jsonl"])
