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
import pathlib
import sys

import jax

from el_jax import build, launch
from el_jax.training.checkpoint import Checkpoints
from el_jax.training.fit import StopSignal, fit
from el_jax.training.processes import agreed, is_first
from el_jax.training.sinks import JsonLines, Sink, TensorBoard, headline, progress, read_rows


def train(config: build.Config, workdir: pathlib.Path) -> None:
    """Train, or go on from the newest checkpoint of ``workdir``."""
    settings = build.parse(config)
    if is_first():
        launch.open_workdir(workdir, config, settings.runs, sys.argv)
    training = build.build(settings)
    program, options = training.program, training.options
    metrics = workdir / "metrics.jsonl"
    stop = StopSignal()
    if jax.device_count() > 1 and is_first():
        print(f"shard={settings.layout}")
    with contextlib.ExitStack() as leaving:
        leaving.callback(stop.restore)
        checkpoints, state = None, None
        if jax.process_count() == 1:
            checkpoints = leaving.enter_context(Checkpoints(workdir / "checkpoints"))
            state = checkpoints.restore(program.init) if checkpoints.latest_step() else None
        elif is_first():
            print("checkpoints: none; a training on several processes cannot be resumed")
        start = 0 if state is None else int(state.step)
        title = f"{settings.loss_name}, {len(settings.runs)} runs on {jax.devices()[0].device_kind}"
        sinks: list[Sink] = []
        if is_first():
            sinks += [JsonLines(metrics, start), progress(title, options.num_updates, start)]
            if settings.train.tensorboard:
                sinks.append(TensorBoard(workdir / "tensorboard", start))
        for sink in sinks:
            leaving.callback(sink.close)
        fit(
            program,
            options,
            training.evaluations,
            final_evaluations=training.final_evaluations,
            probes=training.probes,
            state=state,
            sinks=sinks,
            checkpoints=checkpoints,
            stop=agreed(lambda: stop.received),
        )
    if is_first():
        print(f"done: {options.num_updates} updates; {headline(read_rows(metrics).rows[-1])}")
        print(f"metrics and checkpoints: {workdir}")


if __name__ == "__main__":
    launch.run(train)
