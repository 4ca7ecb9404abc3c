"""Train the studies of an experiment.

The seed fixes the world, data, initialisation and data order. On an accelerator all runs of a seed
advance together in one program. On a CPU, where one small run already fills a core, every seed is a
process of its own and runs follow one another in it. The program of a study is compiled once: the
strings are arguments of it.
"""

import concurrent.futures
import contextlib
import dataclasses
import itertools
import multiprocessing
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
from experiments.harness.shards import WHOLE, Shard


@dataclasses.dataclass(frozen=True)
class Study:
    """Runs that share one program.

    Attributes:
        config: the config; the first of ``train.seeds`` has its ``seed``, ``task.data_seed`` and
            ``task.world.seed``.
        factors: columns of the tables that tell its runs from those of other studies, besides
            loss, warm-up and what is swept.
        names: beginnings of metrics' names, and what tables call them, where studies differ in
            what they measure.
        extras: metrics of the whole course of each run; those of the sweep if None.
    """

    config: build.Config
    factors: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    extras: Callable[[History], Row] | None = None


@dataclasses.dataclass(frozen=True)
class Trained:
    """The results of one process: its runs and every row of metrics they wrote."""

    runs: tuple[build.Numbers, ...]
    history: History
    seconds: float


PILOT_SEED = 100  # and up: chosen on and never reported


def on_pilot_data(studies: Sequence[Study]) -> list[Study]:
    """The studies with two data sets and networks that no result is reported of."""
    for study in studies:
        study.config.seed = study.config.task.data_seed = PILOT_SEED
        study.config.train.seeds = 2
    return list(studies)


def train_all(title: str, studies: Sequence[Study], shard: Shard = WHOLE) -> list[list[Trained]]:
    """Train every study, or a shard's part of each.

    Args:
        title: the experiment, shown beside the progress.
        studies: the studies to train.
        shard: the part of them to train; a unit is one seed of one study, with its whole sweep.

    Raises:
        ShardError: there are more shards than units.
        NonFiniteError: see ``fit``.
    """
    use_compilation_cache()
    if jax.devices()[0].platform == "cpu":
        return _train_all_on_cpu(title, studies, shard)
    return _train_all_together(title, studies, shard)


def _train(
    config: build.Config,
    keep: Path | None,
    watch: Sequence[Sink] = (),
    stop: Callable[[], int | None] = lambda: None,
) -> Trained:
    """Train the runs of one config, or read them back from ``keep`` if they have finished."""
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
    """A sink that sends its rows to the process that shows the progress of all."""

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


def _start_process() -> None:
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
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


def _taken(studies: Sequence[Study], shard: Shard, **train: str) -> list[list[build.Config]]:
    """For each study the configs that a shard trains; every seed of each is a unit."""
    units = [(i, part) for i, study in enumerate(studies) for part in by_seed(study, **train)]
    taken = shard.take(units)
    return [[part for i, part in taken if i == number] for number in range(len(studies))]


def by_seed(study: Study, **train: str) -> list[build.Config]:
    """One config per seed, its sweep unchanged, with keys of its train section replaced."""
    parts = []
    for i in range(study.config.train.seeds):
        part = study.config.copy_and_resolve_references()
        part.seed = study.config.seed + i
        part.train.update(seeds=1, **train)
        if "data_seed" in part.task:
            part.task.data_seed = study.config.task.data_seed + i
        if "seed" in part.task.get("world", {}):
            part.task.world.seed = study.config.task.world.seed + i
        parts.append(part)
    return parts


def _train_all_on_cpu(title: str, studies: Sequence[Study], shard: Shard) -> list[list[Trained]]:
    """Train every seed of every study, as many at a time as there are cores."""
    parts = _taken(studies, shard, run_axis="map")
    context = multiprocessing.get_context("spawn")
    with (
        context.Manager() as manager,
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
            failed.set()  # the others stop after the updates they are at
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [
            [future.result() for future, j in study_of.items() if j == i] for i in range(len(parts))
        ]


def _progress_of_all(
    title: str, parts: Sequence[Sequence[build.Config]]
) -> BarProgress | LineProgress:
    """Progress in updates of all runs; dozens are evaluated every few seconds, and not shown."""
    configs = [part for study in parts for part in study]
    total = sum(len(build.parse(c).runs) * c.train.num_updates for c in configs)
    return progress(title, total, _shown(configs[0]), at_evaluations=False)


def _seed_by_seed(parts: Sequence[Sequence[build.Config]]) -> list[tuple[int, build.Config]]:
    """The parts of all studies, the first seed of each first.

    Neighbouring processes so compile different programs, and find the others' on disk.
    """
    by_seed = itertools.zip_longest(*([(i, part) for part in s] for i, s in enumerate(parts)))
    return [part for row in by_seed for part in row if part is not None]


def _train_all_together(title: str, studies: Sequence[Study], shard: Shard) -> list[list[Trained]]:
    """Train one seed of one study after the other, each as one program over all of its runs."""
    trained = []
    for study, parts in zip(studies, _taken(studies, shard), strict=True):
        name = ", ".join([title, study.config.loss.name, *map(str, study.factors.values())])
        trained.append([_train_watched(f"{name}, seed {part.seed}", part) for part in parts])
    return trained


def _train_watched(title: str, config: build.Config) -> Trained:
    with contextlib.closing(progress(title, config.train.num_updates, _shown(config))) as bar:
        return _train(config, kept.path_of(config), [bar])


def _shown(config: build.Config) -> Watched:
    """The metrics beside the progress."""
    settings = build.parse(config)
    splits = [split for split in settings.evaluations if split not in settings.train.eval_last]
    return watched(["train", *splits], settings.task.group_names)
