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

import json
import pathlib

import jax

from el_jax import build
from el_jax.config.names import known_names
from el_jax.config.training import identity
from el_jax.process import distributed, launch
from el_jax.process.processes import is_first
from el_jax.run import start_from
from el_jax.training.fit import fit
from el_jax.workdir import Workdir


def train(config: build.Config, folder: pathlib.Path) -> None:
    """Train, or resume from the newest checkpoint in the workdir ``folder``."""
    settings = build.checked(build.parse(config))
    resolved = json.loads(config.to_json_best_effort())
    options = settings.train
    with Workdir(folder, resolved, identity, settings.rows, settings.imports) as workdir:
        training = build.build(settings)
        state = workdir.restore(training, keep=options.keep_checkpoints)
        start = 0 if state is None else int(state.step)
        if state is None and options.init_from:
            state = start_from(options.init_from, training.program)
        if is_first() and jax.device_count() > 1:
            print(f"shard={training.program.layout}")
        title = build.title_of(settings)
        sinks = workdir.sinks(title, training, start, options.tracker, options.profile)
        fit(training, state=state, sinks=sinks, checkpoints=workdir.checkpoints, stop=workdir.stop)
        workdir.print_summary(training)


if __name__ == "__main__":
    try:
        launch.run(train, names=known_names)
    except SystemExit as ended:  # after a failed save threads of orbax may wait for minutes
        distributed.leave(int(ended.code or 0))
