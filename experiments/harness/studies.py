"""Train the studies of an experiment.

The seed fixes the world, data, initialisation and data order. On an accelerator all runs of a seed
advance together in one program. On a CPU, where one small run already fills a core, every seed has
its own process, which trains its runs one after the other. The program of a study is compiled once,
since the strings are its arguments.
"""

import concurrent.futures
import contextlib
import dataclasses
import itertools
import multiprocessing
import multiprocessing.managers
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from el_jax import build
from el_jax.process.compilation import use_compilation_cache
from el_jax.run import start_from
from el_jax.training.fit import fit
from el_jax.training.progress import (
    BarProgress,
    LineProgress,
    Watched,
    progress,
    watched,
)
from el_jax.training.sinks import History, Sink
from el_jax.types import Row
from experiments.harness import kept


@dataclasses.dataclass(frozen=True)
class Study:
    """Runs that share one program.

    Attributes:
        config: the config; the first of ``train.seeds`` has its ``seed``, ``task.data_seed`` and
            ``task.world.seed``.
        factors: columns of the tables that distinguish its runs from those of other studies,
            besides loss, warm-up and swept parameters.
        names: prefix of metric names -> their prefix in tables, for studies that measure different
            things.
        extras: metrics computed from each run's history; those of the sweep if None.
        networks: networks trained together on the data set of each seed.
    """

    config: build.Config
    factors: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    extras: Callable[[History], Row] | None = None
    networks: int = 1


@dataclasses.dataclass(frozen=True)
class Trained:
    """The results of one process: its runs and every row of metrics they wrote."""

    runs: tuple[build.Numbers, ...]
    history: History
    seconds: float


PILOT_SEED = 100  # and up: for choosing settings, never reported


def on_pilot_data(studies: Sequence[Study]) -> list[Study]:
    """The studies on two pilot seeds (world, data and initialisation) that are never reported."""
    for study in studies:
        study.config.seed = study.config.task.data_seed = PILOT_SEED
        if "seed" in study.config.task.get("world", {}):
            study.config.task.world.seed = PILOT_SEED
        study.config.train.seeds = 2
    return list(studies)


def train_all(title: str, studies: Sequence[Study]) -> list[list[Trained]]:
    """Train every seed of every study, with its whole sweep.

    Args:
        title: the experiment, shown with the progress.
        studies: the studies to train.

    Raises:
        NonFiniteError: see ``fit``.
    """
    use_compilation_cache()
    if jax.devices()[0].platform == "cpu":
        return _train_all_on_cpu(title, studies)
    return _train_all_together(title, studies)


def _train(
    config: build.Config,
    keep: Path | None,
    watch: Sequence[Sink] = (),
    stop: Callable[[], int | None] = lambda: None,
) -> Trained:
    """Train the runs of one config, or read them from ``keep`` if they have finished."""
    settings = build.parse(config)
    if keep is not None and (finished := kept.read(keep)) is not None:
        history, seconds = finished
        for sink in watch:
            sink.write(history.steps[-1], history.rows[-1])
        return Trained(settings.rows, history, seconds)
    started, history = time.monotonic(), History()
    training, source = build.build(settings), settings.train.init_from
    state = start_from(source, training.program) if source else None
    fit(training, state=state, sinks=[history, *watch], stop=stop)
    seconds = time.monotonic() - started
    if keep is not None:
        kept.write(keep, history, seconds)
    return Trained(settings.rows, history, seconds)


class _Relay:
    """A sink that sends its rows to the process that shows the overall progress."""

    def __init__(self, messages: Any, config: build.Config) -> None:
        self._messages, self._step = messages, 0
        self._name = f"{config.loss.name}, seed {config.seed}"

    def write(self, step: int, row: Row) -> None:
        """Send the number of updates since the last row, over all runs, and the row."""
        updates = (step - self._step) * len(row["batch_loss"])
        self._messages.put((updates, row, self._name))
        self._step = step

    def close(self) -> None:
        """Nothing to finish."""


def _train_in_process(
    config: build.Config, keep: Path | None, messages: Any, failed: Any
) -> Trained:
    relay = _Relay(messages, config)
    return _train(config, keep, [relay], lambda: signal.SIGTERM if failed.is_set() else None)


def _watch_parent() -> None:
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()


def _start_process() -> None:
    _watch_parent()
    # one core each: threads of neighbouring processes would only wait for one another
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false " + os.environ.get(
        "XLA_FLAGS", ""
    )
    jax.config.update("jax_platforms", "cpu")
    use_compilation_cache()


def _end_with_parent(parent: int) -> None:
    # a killed sweep must not leave its processes behind
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def by_seed(study: Study, **train: str) -> list[build.Config]:
    """One config per seed, its sweep unchanged, with keys of its train section replaced."""
    parts = []
    for i in range(study.config.train.seeds):
        part = study.config.copy_and_resolve_references()
        part.seed = study.config.seed + i * study.networks
        part.train.update(seeds=study.networks, **train)
        if "data_seed" in part.task:
            part.task.data_seed = study.config.task.data_seed + i
        if "seed" in part.task.get("world", {}):
            part.task.world.seed = study.config.task.world.seed + i
        parts.append(part)
    return parts


def _train_all_on_cpu(title: str, studies: Sequence[Study]) -> list[list[Trained]]:
    """Train every seed of every study, as many at a time as there are cores."""
    parts = [by_seed(study, run_axis="map") for study in studies]
    context = multiprocessing.get_context("spawn")
    manager = multiprocessing.managers.SyncManager(ctx=context)
    manager.start(_watch_parent)
    with (
        manager,
        concurrent.futures.ProcessPoolExecutor(os.cpu_count(), context, _start_process) as pool,
        contextlib.closing(_progress_of_all(title, parts)) as bar,
    ):
        messages, failed = manager.Queue(), manager.Event()
        study_of = {
            pool.submit(_train_in_process, part, kept.path_of(part), messages, failed): i
            for i, part in _seed_by_seed(parts)
        }
        waiting, made = {*study_of}, 0
        try:
            while waiting:
                ended, waiting = concurrent.futures.wait(waiting, timeout=0.5)
                while not messages.empty():
                    updates, row, name = messages.get()
                    made += updates
                    bar.write(made, row, name)
                for future in ended:
                    future.result()  # raises the error of a process at once
        except BaseException:
            failed.set()  # the others stop after their current updates
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [
            [future.result() for future, j in study_of.items() if j == i] for i in range(len(parts))
        ]


def _progress_of_all(
    title: str, parts: Sequence[Sequence[build.Config]]
) -> BarProgress | LineProgress:
    """Progress in updates of all runs; their many evaluations are not shown."""
    configs = [part for study in parts for part in study]
    total = sum(len(build.parse(c).runs) * c.train.num_updates for c in configs)
    return progress(title, total, _shown(configs[0]), at_evaluations=False)


def _seed_by_seed(parts: Sequence[Sequence[build.Config]]) -> list[tuple[int, build.Config]]:
    """The parts of all studies, ordered so that the first seed of each comes first.

    Neighbouring processes then compile different programs, and find each other's on disk.
    """
    by_seed = itertools.zip_longest(*([(i, part) for part in s] for i, s in enumerate(parts)))
    return [part for row in by_seed for part in row if part is not None]


def _train_all_together(title: str, studies: Sequence[Study]) -> list[list[Trained]]:
    """Train one seed of one study after the other, each as one program over all of its runs."""
    trained = []
    for study in studies:
        name = ", ".join([title, study.config.loss.name, *map(str, study.factors.values())])
        trained.append([_train_watched(f"{name}, seed {p.seed}", p) for p in by_seed(study)])
    return trained


def _train_watched(title: str, config: build.Config) -> Trained:
    with contextlib.closing(progress(title, config.train.num_updates, _shown(config))) as bar:
        return _train(config, kept.path_of(config), [bar])


def _shown(config: build.Config) -> Watched:
    """The metrics shown with the progress."""
    settings = build.parse(config)
    splits = [split for split in settings.evaluations if split not in settings.train.eval_last]
    return watched(["train", *splits], settings.task.group_names)
