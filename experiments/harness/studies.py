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
import queue
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
from el_jax.training.progress import Watched, progress, watched
from el_jax.training.sinks import History, JsonLines, Sink
from el_jax.types import Row
from el_jax.workdir import hold
from experiments.harness import kept
from experiments.harness.shards import Shard


@dataclasses.dataclass(frozen=True)
class Study:
    """Runs that share one program.

    Attributes:
        config: the config; the first of ``train.seeds`` has its ``seed``, ``task.data_seed`` and
            ``task.world.seed``.
        factors: columns of the tables that tell its runs from those of other studies, besides
            loss, warm-up and what is swept.
        seeds_per_data: seeds that share a world and a data set before the next ones are drawn.
        names: beginnings of metrics' names, and what tables call them, where studies differ in
            what they measure.
        extras: metrics of the whole course of each run; those of the sweep if None.
    """

    config: build.Config
    factors: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seeds_per_data: int = 1
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    extras: Callable[[History], Row] | None = None


@dataclasses.dataclass(frozen=True)
class Trained:
    """The results of one process: its runs and every row of metrics they wrote."""

    runs: tuple[build.Numbers, ...]
    history: History
    seconds: float


Finished = Callable[[Study, Sequence[Trained]], None]


def train_all(
    title: str, studies: Sequence[Study], shard: Shard, finished: Finished
) -> list[list[Trained]]:
    """Train a shard's part of every study.

    Args:
        title: the experiment, shown beside the progress bar.
        studies: the studies to train.
        shard: the part of them to train; a unit is one seed of one study, with its whole sweep.
        finished: called when all seeds of a study are trained.

    Raises:
        ShardError: there are more shards than units.
        NonFiniteError: see ``fit``.
    """
    if jax.devices()[0].platform == "cpu":
        return _train_all_on_cpu(title, studies, shard, finished)
    return _train_all_together(title, studies, shard, finished)


class _Relay:
    """A sink that sends this process's progress to another process."""

    def __init__(self, messages: Any, watched: Watched, name: str) -> None:
        self._messages, self._watched, self._name, self._step = messages, watched, name, 0

    def write(self, step: int, row: Row) -> None:
        """Send the number of updates since the last row, and the metrics shown beside the bar."""
        seen = {name: row[name] for name in self._watched if name in row}
        num_runs = len(row["batch_loss"])
        self._messages.put(((step - self._step) * num_runs, seen, self._name))
        self._step = step

    def close(self) -> None:
        """Nothing to finish."""


def _train(
    config: build.Config,
    watch: Sink,
    keep: Path | None,
    stop: Callable[[], int | None] = lambda: None,
) -> Trained:
    """Train the runs of one config, or read them back from ``keep`` if they finished there.

    Raises:
        WorkdirBusyError: another process trains in ``keep``.
    """
    settings = build.parse(config)
    with contextlib.ExitStack() as files:
        history = History()
        sinks: list[Sink] = [history, watch]
        if keep is not None:
            files.enter_context(hold(keep))
            if (finished := kept.read(keep)) is not None:
                history, seconds = finished
                watch.write(history.steps[-1], history.rows[-1])
                return Trained(settings.rows, history, seconds)
            rows = JsonLines(keep / kept.ROWS)
            sinks.append(files.enter_context(contextlib.closing(rows)))
        started = time.monotonic()
        training, source = build.build(settings), settings.train.init_from
        state = start_from(source, training.program) if source else None
        fit(training, state=state, sinks=sinks, stop=stop)
        seconds = time.monotonic() - started
        if keep is not None:
            kept.seal(keep, seconds)
    return Trained(settings.rows, history, seconds)


def _train_in_process(
    config: build.Config, messages: Any, failed: Any, keep: Path | None
) -> Trained:
    relay = _Relay(messages, _watched(config), f"{config.loss.name}, seed {config.seed}")
    return _train(config, relay, keep, lambda: signal.SIGTERM if failed.is_set() else None)


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
        data = i // study.seeds_per_data
        if "data_seed" in part.task:
            part.task.data_seed = study.config.task.data_seed + data
        if "seed" in part.task.get("world", {}):
            part.task.world.seed = study.config.task.world.seed + data
        parts.append(part)
    return parts


def _num_runs(config: build.Config) -> int:
    return len(build.parse(config).runs)


def _watched(config: build.Config) -> Watched:
    settings = build.parse(config)
    splits = [split for split in settings.evaluations if split not in settings.train.eval_last]
    return watched(["train", *splits], settings.task.group_names)


class _Total:
    """Progress over all processes: updates made by any of them."""

    def __init__(self, title: str, num_updates: int, watched: Watched) -> None:
        # dozens of runs are evaluated every few seconds: the time alone decides when to tell
        self._bar = progress(title, num_updates, watched, at_evaluations=False)
        self._done = 0

    def add(self, updates: int, row: Row, name: str) -> None:
        """Count further updates, and move the bar."""
        self._done += updates
        self._bar.write(self._done, row, name)

    def close(self) -> None:
        """Finish the bar."""
        self._bar.close()


def _train_all_on_cpu(
    title: str, studies: Sequence[Study], shard: Shard, finished: Finished
) -> list[list[Trained]]:
    """Train every seed of every study, as many at a time as there are cores."""
    parts = _taken(studies, shard, run_axis="map")
    total = _Total(
        title,
        sum(part.train.num_updates * _num_runs(part) for s in parts for part in s),
        _watched(studies[0].config),
    )
    context = multiprocessing.get_context("spawn")
    with (
        context.Manager() as manager,
        concurrent.futures.ProcessPoolExecutor(os.cpu_count(), context, _start_process) as pool,
    ):
        messages, failed = manager.Queue(), manager.Event()
        futures = [
            (i, pool.submit(_train_in_process, part, messages, failed, kept.folder_of(part)))
            for i, part in _seed_by_seed(parts)
        ]
        waiting = {i for i, _ in futures}

        def look() -> None:
            for i in sorted(waiting):
                mine = [future for j, future in futures if j == i]
                if all(future.done() for future in mine):
                    finished(studies[i], [future.result() for future in mine])
                    waiting.remove(i)

        try:
            _wait([future for _, future in futures], messages, total, look)
        except BaseException:
            failed.set()  # the others stop after the updates they are at
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            total.close()
        return [[future.result() for j, future in futures if j == i] for i in range(len(studies))]


def _seed_by_seed(parts: Sequence[Sequence[build.Config]]) -> list[tuple[int, build.Config]]:
    """The parts of all studies, the first seed of each first.

    Neighbouring processes so compile different programs, and find the others' on disk.
    """
    by_seed = itertools.zip_longest(*([(i, part) for part in s] for i, s in enumerate(parts)))
    return [part for row in by_seed for part in row if part is not None]


def _wait(
    futures: Sequence[concurrent.futures.Future[Trained]],
    messages: Any,
    total: _Total,
    look: Callable[[], None],
) -> None:
    """Show progress until all are done; raise the first error of any process at once."""
    waiting = set(futures)
    while waiting or not messages.empty():
        with contextlib.suppress(queue.Empty):
            total.add(*messages.get(timeout=0.5 if waiting else 0.0))
        for future in [future for future in waiting if future.done()]:
            future.result()
            waiting.remove(future)
            look()


def _train_all_together(
    title: str, studies: Sequence[Study], shard: Shard, finished: Finished
) -> list[list[Trained]]:
    """Train one seed of one study after the other, each as one program over all of its runs."""
    trained = []
    for study, parts in zip(studies, _taken(studies, shard), strict=True):
        name = ", ".join([title, study.config.loss.name, *map(str, study.factors.values())])
        trained.append([_train_watched(f"{name}, seed {part.seed}", part) for part in parts])
        if parts:
            finished(study, trained[-1])
    return trained


def _train_watched(title: str, config: build.Config) -> Trained:
    bar = progress(title, config.train.num_updates, _watched(config))
    try:
        return _train(config, bar, kept.folder_of(config))
    finally:
        bar.close()
