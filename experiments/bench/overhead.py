"""Shares of a training's wall time that its loop spends on checkpoints and on logging."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jax

from configs.el.copy import get_config
from el_jax import build
from el_jax.checkpoint import Checkpoints
from el_jax.runtime.compilation import use_compilation_cache
from el_jax.training.fit import Training, fit
from el_jax.training.metrics import summarise
from el_jax.training.progress import LineProgress
from el_jax.training.sinks import JsonLines, Sink
from experiments.bench.paired import Benchmark, Measurement


def measure(config: str, seeds: int | None, rounds: int) -> Iterator[Measurement]:
    """Shares of the wall time of a training, its compilation left out; a round is a training.

    Args:
        config: what follows ``copy.py:`` on the command line.
        seeds: number of runs; None for the config's.
        rounds: number of trainings.
    """
    chosen = get_config(config)
    chosen.train.shard = "none"
    if seeds is not None:
        chosen.train.seeds = seeds
    use_compilation_cache()
    training = build.build(build.parse(chosen))
    _compile(training)
    runs, updates = training.spec.hypers.num_runs, training.options.num_updates
    found = [_round(training) for _ in range(rounds)]
    values = {name: [one[name] for one in found] for name in found[0]}
    yield Measurement(f"copy.py:{config}, {updates} updates, runs: {runs}", values)


def _clock(calls: list[float], function: Callable[..., None]) -> Callable[..., None]:
    """The function, with the seconds of each call put on a list."""

    def timed(*given: object) -> None:
        start = time.perf_counter()
        function(*given)
        calls.append(time.perf_counter() - start)

    return timed


def _round(training: Training) -> dict[str, float]:
    """Train once from start to end."""
    saving, writing = list[float](), list[float]()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as leaving:
        rows = JsonLines(Path(folder) / "metrics.jsonl")
        leaving.callback(rows.close)
        progress = LineProgress("overhead", training.options.num_updates, 0, training.watched)
        sinks: list[Sink] = [rows, progress]
        for sink in sinks:
            vars(sink)["write"] = _clock(writing, sink.write)
        start = time.perf_counter()
        with Checkpoints(Path(folder) / "checkpoints") as checkpoints:
            # the loop's waiting, not the writing in the background
            vars(checkpoints)["save"] = _clock(saving, checkpoints.save)
            fit(training, sinks=sinks, checkpoints=checkpoints)
            trained = time.perf_counter() - start
    naming = _seconds_to_summarise(training) * len(writing) / len(sinks)
    return {
        "blocked by checkpoints, share": sum(saving) / trained,
        "logging, share": (sum(writing) + naming) / trained,
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


BENCHMARK = Benchmark(
    measure,
    {
        "smoke": ("loss=e1,smoke", 1, 1),
        "cpu": ("loss=e1", 1, 6),
        "gpu": ("loss=e1", None, 6),
    },
)
