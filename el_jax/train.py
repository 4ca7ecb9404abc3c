"""Train the runs of one config: python -m el_jax.train --config=FILE[:ARG] --workdir=FOLDER."""

import pathlib
import sys

import jax

from el_jax import build, launch
from el_jax.training.checkpoint import Checkpoints
from el_jax.training.fit import NonFiniteError, Stopped, StopSignal, fit
from el_jax.training.sinks import JsonLines, Sink, TensorBoard, progress

NOT_FINITE = 3  # exit code of a training that met a NaN or an infinity


def train(config: build.Config, workdir: pathlib.Path) -> None:
    """Train, or go on from the newest checkpoint of ``workdir``."""
    settings = build.parse(config)
    launch.open_workdir(workdir, config, settings.runs, sys.argv)
    training = build.build(settings)
    program, options = training.program, training.options
    stop = StopSignal()
    with Checkpoints(workdir / "checkpoints") as checkpoints:
        start = checkpoints.latest_step() or 0
        state = checkpoints.restore(program.init) if start else None
        title = f"{settings.loss_name}, {len(settings.runs)} runs on {jax.devices()[0].device_kind}"
        sinks: list[Sink] = [
            JsonLines(workdir / "metrics.jsonl", start),
            progress(title, options.num_updates, start),
        ]
        if settings.train.tensorboard:
            sinks.append(TensorBoard(workdir / "tensorboard", start))
        try:
            fit(
                program,
                options,
                training.evaluations,
                final_evaluations=training.final_evaluations,
                probes=training.probes,
                state=state,
                sinks=sinks,
                checkpoints=checkpoints,
                stop=lambda: stop.received,
            )
        finally:
            for sink in sinks:
                sink.close()


def main(config: build.Config, workdir: pathlib.Path) -> None:
    """``train``, with the exit code of what stopped it."""
    try:
        train(config, workdir)
    except Stopped as stopped:
        launch.exit_with(stopped, 128 + stopped.signum)
    except NonFiniteError as error:
        launch.exit_with(error, NOT_FINITE)


if __name__ == "__main__":
    launch.run(main)
