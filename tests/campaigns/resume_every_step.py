"""Resume a training of 30 updates at every one of them, and compare bit for bit.

    python -m tests.campaigns.resume_every_step [--updates=30]

Five settings; each is trained once, saved after every update, and then once from each of these
checkpoints by a program built anew. Good: the final state and metrics.jsonl are identical.
"""

import argparse
import dataclasses
import functools
import operator
import pathlib
import shutil
import tempfile

import jax
import numpy as np

from configs.el.copy import get_config
from el_jax import build
from el_jax.checkpoints.store import Checkpoints
from el_jax.training.fit import FitOptions, fit
from el_jax.training.sinks import JsonLines
from tests.campaigns.tally import Tally

IDENTICAL = "identical"


def _config(arg, **changes):
    config = get_config(f"{arg},smoke")
    config.model.update(width=8, num_layers=1)
    config.task.update(padding_length=4, num_train=32)
    config.eval = {"test": 16, "test_precise": 16}
    config.train.update(eval_tokens=128, num_updates=40)
    for path, value in changes.items():
        *sections, key = path.split("__")
        functools.reduce(operator.getitem, sections, config)[key] = value
    return config


SETTINGS = {
    "E1, warm-up, dropout": lambda: _config("loss=e1", model__residual_dropout=0.1),
    "E2, cosine schedule": lambda: _config("loss=e2", optim__schedule="cosine"),
    "E3, SGD": lambda: _config("loss=e3,optimizer=sgd"),
    "cross-entropy, one run after the other": lambda: _config(
        "loss=cross_entropy", train__run_axis="map"
    ),
    "focal, sweep, strings reshuffled": lambda: _config(
        "loss=focal", sweep__optim__peak_lr=(1e-3, 1e-2), task__grouping="reshuffled"
    ),
}


def _train(training, num_updates, workdir, keep, resume):
    """Train in ``workdir``, with a row and, if ``keep``, a checkpoint after every update."""
    rows = workdir / "metrics.jsonl"
    options = FitOptions(num_updates, 1, 5, 1 if keep > 1 else num_updates)
    with Checkpoints(workdir / "checkpoints", keep, rows=rows) as checkpoints:
        state = checkpoints.restore(training.program.init) if resume else None
        sink = JsonLines(rows, checkpoints.row_bytes)
        try:
            training = dataclasses.replace(training, options=options, final_evaluations={})
            return fit(training, state=state, sinks=[sink], checkpoints=checkpoints)
        finally:
            sink.close()


def _outcome(state, rows, expected_state, expected_rows):
    pairs = zip(jax.tree.leaves(state), jax.tree.leaves(expected_state), strict=True)
    if not all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs):
        return "another state"
    return IDENTICAL if rows == expected_rows else "other rows"


def run(folder, num_updates, settings=tuple(SETTINGS), every=1, progress=0):
    """Run the campaign in an empty folder, at every ``every``-th step only."""
    tally = Tally("resume_every_step", [IDENTICAL], progress)
    for number, name in enumerate(settings):
        workdir = folder / str(number)
        workdir.mkdir()
        training = build.build(build.parse(SETTINGS[name]()))
        expected = jax.device_get(_train(training, num_updates, workdir, num_updates, resume=False))
        rows = (workdir / "metrics.jsonl").read_bytes()
        anew = build.build(build.parse(SETTINGS[name]()))
        for step in range(1, num_updates + 1, every):
            resumed = folder / f"{number}_{step}"
            shutil.copytree(
                workdir / "checkpoints" / str(step), resumed / "checkpoints" / str(step)
            )
            shutil.copy(workdir / "metrics.jsonl", resumed)
            state = _train(anew, num_updates, resumed, 1, resume=True)
            outcome = _outcome(state, (resumed / "metrics.jsonl").read_bytes(), expected, rows)
            tally.add(name, outcome, f"from step {step}")
            shutil.rmtree(resumed)
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(pathlib.Path(folder), given.updates, progress=30).finish()
