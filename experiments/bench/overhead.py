"""Shares of a training's wall time that its loop spends on checkpoints and on logging."""

import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import jax

from configs.el.copy import get_config
from el_jax import build
from el_jax.checkpoints.arrays import State
from el_jax.checkpoints.store import Checkpoints
from el_jax.runtime.compilation import use_compilation_cache
from el_jax.training.fit import Training, fit
from el_jax.training.metrics import Row as Metrics, summarise
from el_jax.training.progress import LineProgress
from el_jax.training.sinks import JsonLines, Sink
from experiments.bench.measurement import Measurement


class Plan(NamedTuple):
    """A training, and the number of times it is made."""

    config: str
    train: Mapping[str, int]  # in place of the config's
    rounds: int


PLANS = {
    "smoke": Plan("loss=e1,smoke", {"seeds": 1}, 1),
    "cpu": Plan("loss=e1", {"seeds": 1}, 6),
    "gpu": Plan("loss=e1", {}, 6),
}


class Clock:
    """Seconds spent inside of each of its ``with`` blocks."""

    def __init__(self) -> None:
        self.laps = list[float]()

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.laps.append(time.perf_counter() - self._start)


class TimedCheckpoints(Checkpoints):
    """Checkpoints that time their calls: the loop's waiting, not the writing in the background."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        super().__init__(folder)
        self._clock = clock

    def save(self, state: State) -> None:
        """Save, on the clock."""
        with self._clock:
            super().save(state)


class TimedSink:
    """A sink that times its calls to another sink."""

    def __init__(self, sink: Sink, clock: Clock) -> None:
        self._sink, self._clock = sink, clock

    def write(self, step: int, row: Metrics) -> None:
        """Write, on the clock."""
        with self._clock:
            self._sink.write(step, row)

    def close(self) -> None:
        """Finish."""
        self._sink.close()


def measure(plan: Plan) -> Iterator[Measurement]:
    """Shares of the wall time of a training, its compilation left out; a round is a training."""
    config = get_config(plan.config)
    config.train.update(plan.train, shard="none")
    use_compilation_cache()
    training = build.build(build.parse(config))
    _compile(training)
    runs, updates = training.spec.hypers.num_runs, training.options.num_updates
    case = f"copy.py:{plan.config}, {updates} updates, runs: {runs}"
    rounds = [_round(training) for _ in range(plan.rounds)]
    yield Measurement(case, {name: [found[name] for found in rounds] for name in rounds[0]})


def _round(training: Training) -> dict[str, float]:
    """Train once from start to end."""
    saving, writing = Clock(), Clock()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as leaving:
        rows = JsonLines(Path(folder) / "metrics.jsonl")
        leaving.callback(rows.close)
        progress = LineProgress("overhead", training.options.num_updates, 0, training.watched)
        sinks = [TimedSink(sink, writing) for sink in (rows, progress)]
        start = time.perf_counter()
        with TimedCheckpoints(Path(folder) / "checkpoints", saving) as checkpoints:
            fit(training, sinks=sinks, checkpoints=checkpoints)
            trained = time.perf_counter() - start
        left = time.perf_counter() - start - trained
    naming = _seconds_to_summarise(training) * len(writing.laps) / len(sinks)
    return {
        "blocked by checkpoints, share": sum(saving.laps) / trained,
        "blocked by the first checkpoint, ms": 1e3 * saving.laps[0],
        "blocked by the last one, ms": 1e3 * saving.laps[-1],
        "logging, share": (sum(writing.laps) + naming) / trained,
        "waiting for the last checkpoint, s": left,
        "training, s": trained,
    }


def _compile(training: Training) -> None:
    """Run every program of the loop once, so that none is compiled on the clock."""
    program = training.program
    state, *_ = program.advance(program.init(), training.options.log_every)
    for batch in (*training.evaluations.values(), *training.final_evaluations.values()):
        jax.block_until_ready(program.evaluate(state.params, batch))


def _seconds_to_summarise(training: Training, times: int = 50) -> float:
    """Seconds to bring the metrics of a dispatch to the host and name them."""
    program = training.program
    _, metrics, _ = program.advance(program.init(), training.options.log_every)
    jax.block_until_ready(metrics)
    start = time.perf_counter()
    for _ in range(times):
        summarise(program.layout.fetch(metrics), program.group_names, "batch")
    return (time.perf_counter() - start) / times
