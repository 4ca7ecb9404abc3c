"""Train the runs of one config.

    python -m el_jax.train --config=FILE[:ARGUMENT] --workdir=FOLDER [--config.SECTION.KEY=VALUE]

For example --config=configs/el/copy.py:loss=e1,smoke --config.optim.peak_lr=1e-3. The config file
says which arguments it takes. The same command again goes on from the newest checkpoint.

It uses all devices there are. On several machines, the same on each, with either
    --coordinator=HOST:PORT --num_processes=N --process_id=I     (HOST is that of process 0)
    --distributed=auto                                           (SLURM, TPU pods)
The first of them writes the metrics. There are no checkpoints then, and the same command begins
anew.
"""

import contextlib
import json
import pathlib
import sys

import jax

from el_jax import build, launch
from el_jax.training.checkpoint import Checkpoints
from el_jax.training.fit import fit
from el_jax.training.manifest import config_hash
from el_jax.training.processes import agreed, is_first
from el_jax.training.sinks import JsonLines, Sink, TensorBoard, headline, progress, read_rows
from el_jax.training.stop import StopSignal
from el_jax.workdir import hold, open_workdir


def train(config: build.Config, workdir: pathlib.Path) -> None:
    """Train, or go on from the newest checkpoint of ``workdir``."""
    settings = build.parse(config)
    resolved = json.loads(config.to_json_best_effort())
    metrics = workdir / "metrics.jsonl"
    with contextlib.ExitStack() as leaving:
        if is_first():
            leaving.enter_context(hold(workdir))
        stop = leaving.enter_context(contextlib.closing(StopSignal()))
        if is_first():
            open_workdir(workdir, resolved, settings.runs, sys.argv)
        training = build.build(settings)
        program = training.program
        if jax.device_count() > 1 and is_first():
            print(f"shard={settings.layout}")
        checkpoints, state = None, None
        if jax.process_count() == 1:
            folder, sha256 = workdir / "checkpoints", config_hash(resolved)
            checkpoints = Checkpoints(folder, config_sha256=sha256, rows=metrics)
            state = leaving.enter_context(checkpoints).restore(program.init)
        elif is_first():
            print("checkpoints: none; a training on several processes cannot be resumed")
        start = 0 if state is None else int(state.step)
        sinks = _sinks(settings, workdir, start) if is_first() else []
        for sink in sinks:
            leaving.callback(sink.close)
        fit(
            program,
            training.options,
            training.evaluations,
            final_evaluations=training.final_evaluations,
            probes=training.probes,
            state=state,
            sinks=sinks,
            checkpoints=checkpoints,
            stop=agreed(stop),
        )
    if is_first():
        last = headline(read_rows(metrics).rows[-1])
        print(f"done: {settings.train.num_updates} updates; {last}")
        print(f"metrics and checkpoints: {workdir}")


def _sinks(settings: build.Settings, workdir: pathlib.Path, start: int) -> list[Sink]:
    title = f"{settings.loss_name}, {len(settings.runs)} runs on {jax.devices()[0].device_kind}"
    sinks: list[Sink] = [
        JsonLines(workdir / "metrics.jsonl", start),
        progress(title, settings.train.num_updates, start),
    ]
    if settings.train.tensorboard:
        sinks.append(TensorBoard(workdir / "tensorboard", start))
    return sinks


if __name__ == "__main__":
    launch.run(train)
