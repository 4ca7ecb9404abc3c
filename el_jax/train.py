"""Train the runs of one config.

    python -m el_jax.train --config=FILE[:ARGUMENT] --workdir=FOLDER [--config.SECTION.KEY=VALUE]

For example --config=configs/el/copy.py:loss=e1,smoke --config.optim.peak_lr=1e-3. The config file
says which arguments it takes. The same command again goes on from the newest checkpoint.
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
from el_jax.training.sinks import JsonLines, Sink, TensorBoard, headline, progress, read_rows
from el_jax.training.stop import StopSignal
from el_jax.workdir import hold, open_workdir


def train(config: build.Config, workdir: pathlib.Path) -> None:
    """Train, or go on from the newest checkpoint of ``workdir``."""
    settings = build.parse(config)
    resolved = json.loads(config.to_json_best_effort())
    metrics = workdir / "metrics.jsonl"
    with contextlib.ExitStack() as leaving:
        leaving.enter_context(hold(workdir))
        stop = leaving.enter_context(contextlib.closing(StopSignal()))
        open_workdir(workdir, resolved, settings.runs, sys.argv)
        training = build.build(settings)
        program, options = training.program, training.options
        checkpoints = leaving.enter_context(
            Checkpoints(workdir / "checkpoints", config_sha256=config_hash(resolved), rows=metrics)
        )
        state = checkpoints.restore(program.init)
        start = 0 if state is None else int(state.step)
        title = f"{settings.loss_name}, {len(settings.runs)} runs on {jax.devices()[0].device_kind}"
        sinks: list[Sink] = [
            JsonLines(metrics, start),
            progress(title, options.num_updates, start),
        ]
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
            stop=stop,
        )
    print(f"done: {options.num_updates} updates; {headline(read_rows(metrics).rows[-1])}")
    print(f"metrics and checkpoints: {workdir}")


if __name__ == "__main__":
    launch.run(train)
