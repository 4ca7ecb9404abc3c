"""Train the runs of one config.

    python -m el_jax.train --config=FILE[:ARGUMENT] --workdir=FOLDER [--config.SECTION.KEY=VALUE]

For example --config=configs/el/copy.py:loss=e1,smoke --config.optim.peak_lr=1e-3. The config file
names the arguments it takes. The same command again resumes from the newest checkpoint.
--import=FILE (or MODULE) adds losses, tasks, models or optimizers of your own by name.

A training uses all available devices. On several machines, give each the same command with either
    --coordinator=HOST:PORT --num_processes=N --process_id=I     (HOST is that of process 0)
    --distributed=auto                                           (SLURM, TPU pods)
and start all within --join_timeout=30 seconds. Process 0 owns the workdir. A run can be resumed
with a different number of processes.
"""

import contextlib
import json
import pathlib
import sys

import jax

from el_jax import build
from el_jax.checkpoints.manifest import committed_steps, config_hash
from el_jax.checkpoints.shared import SharedCheckpoints, open_checkpoints
from el_jax.checkpoints.store import Checkpoints
from el_jax.config.names import known_names
from el_jax.config.training import identity
from el_jax.models import TransformerConfig, attention_choice
from el_jax.runtime import distributed, launch, target
from el_jax.runtime.errors import ConfigError
from el_jax.runtime.processes import agreed, check_same, is_first, together
from el_jax.runtime.stop import StopSignal
from el_jax.runtime.workdir import check_workdir, claim_workdir, hold, origin
from el_jax.saved_run import start_from
from el_jax.training.fit import fit
from el_jax.training.progress import headline, sweep_points
from el_jax.training.sinks import open_sinks, read_rows
from el_jax.training.state import TrainState


def train(config: build.Config, workdir: pathlib.Path) -> None:
    """Train, or go on from the newest checkpoint of ``workdir``."""
    resolved = json.loads(config.to_json_best_effort())
    check_same("--config", resolved)
    settings = build.parse(config)
    num_updates = settings.train.num_updates
    points = sweep_points(settings.rows)
    title = f"{settings.loss.name}, {len(settings.runs)} runs on {jax.devices()[0].device_kind}"
    title += f" ({' / '.join(points)})" if 1 < len(points) <= 3 else ""
    with contextlib.ExitStack() as leaving:
        stop = leaving.enter_context(contextlib.closing(StopSignal()))
        lock = None
        with together():
            if is_first():
                lock = leaving.enter_context(hold(workdir))
        training = build.build(settings)
        with together():
            if is_first():  # not before: a config that is refused must not claim the workdir
                _check_length(workdir, num_updates)
                check_workdir(workdir, resolved, identity)
        if is_first():
            _tell_choices(settings)
        checkpoints = open_checkpoints(
            workdir,
            settings.layout.fetch,
            config_hash(identity(resolved)),
            keep=settings.train.keep_checkpoints,
            lock=lock,
            origin=origin(settings.imports),
            groups=training.program.groups,
        )
        leaving.enter_context(checkpoints)
        state = _first_state(settings, training, checkpoints)
        with together():
            if is_first():
                claim_workdir(workdir, resolved, settings.rows, sys.argv)
            files = open_sinks(
                workdir,
                title,
                num_updates,
                training.watched,
                0 if state is None else int(state.step),
                points=points,
                row_bytes=checkpoints.row_bytes,
                lock=lock,
                tensorboard=settings.train.tensorboard,
            )
            sinks = leaving.enter_context(files) if is_first() else []
        fit(
            training,
            state=state,
            sinks=sinks,
            checkpoints=checkpoints,
            stop=agreed(stop),
        )
    if is_first():
        last = read_rows(workdir / "metrics.jsonl").rows[-1]
        print(f"done: {num_updates} updates; {headline(last, training.watched, points)}")
        print(f"metrics and checkpoints: {workdir}")


def _check_length(workdir: pathlib.Path, num_updates: int) -> None:
    made = max(committed_steps(workdir / "checkpoints"), default=0)
    if made > num_updates:
        raise ConfigError(
            f"config.train.num_updates={num_updates}: must be at least {made}, the number of "
            "updates that were made in this workdir"
        )


def _first_state(
    settings: build.Settings,
    training: build.Training,
    checkpoints: Checkpoints | SharedCheckpoints,
) -> TrainState | None:
    """The newest state of the workdir, or given parameters, or None to draw new ones."""
    program, folder = training.program, settings.train.init_from
    state = checkpoints.restore(program.init, program.layout.place_of_state)
    if state is None and folder:
        with together():
            return start_from(folder, program)
    return state


def _tell_choices(settings: build.Settings) -> None:
    """Print the choices made for this machine, if there were any to make."""
    if jax.device_count() > 1:
        print(f"shard={settings.layout}")
    platform, model = jax.default_backend(), settings.model.config
    if platform != "cpu" and isinstance(model, TransformerConfig):
        print(f"attention={attention_choice(model, platform, target.capability())}")


if __name__ == "__main__":
    try:
        launch.run(train, names=known_names)
    except SystemExit as ended:  # after a failed save threads of orbax may wait for minutes
        distributed.leave(int(ended.code or 0))
