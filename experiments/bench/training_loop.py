"""A whole training: the start of its command, and its loop's time outside updates.

Two benchmarks. ``relaunch`` is the seconds from starting a training's command to its first finished
update; ``overhead`` is the shares of wall time spent on checkpoints and on logging.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jax

from configs.el.copy import get_config
from el_jax import build
from el_jax.checkpoint import Checkpoints
from el_jax.training.fit import Training, fit
from el_jax.training.metrics import summarise
from el_jax.training.progress import LineProgress
from el_jax.training.sinks import JsonLines, Sink
from experiments.bench.paired import ROOT, Benchmark, Case, Values, WorkerError

DEADLINE = 600.0  # seconds for a start

# ── relaunch ─────────────────────────────────────────────────────────────────────────────────────


def measure_relaunch(case: Case, starts: int, own_cache: bool) -> Values:
    """Seconds for a cold start, with its own empty cache, and for warm ones."""
    with tempfile.TemporaryDirectory() as folder:
        cache = {"JAX_COMPILATION_CACHE_DIR": folder} if own_cache else {}
        cold = [first_update(case["config"], cache) for _ in range(own_cache)]
        warm = [first_update(case["config"], cache) for _ in range(starts)]
    return {"warm start to first update, s": warm, "cold start to first update, s": cold}


def first_update(config: str, environment: dict[str, str]) -> float:
    """Seconds from starting ``python -m el_jax.train`` until the row of update 1 is on disk.

    The loop writes the row of an update after it has dispatched the next one.

    Raises:
        WorkerError: the command ended, or took too long.
    """
    with tempfile.TemporaryDirectory() as workdir, contextlib.ExitStack() as leaving:
        command = [
            *(sys.executable, "-m", "el_jax.train", f"--config=configs/el/copy.py:{config}"),
            *(f"--workdir={workdir}", "--config.train.log_every=1"),
        ]
        for name in ("num_updates", "eval_every", "checkpoint_every"):
            command.append(f"--config.train.{name}=100000")
        said, rows = Path(workdir) / "said", Path(workdir) / "metrics.jsonl"
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=leaving.enter_context(said.open("w")),
            stderr=subprocess.STDOUT,
        )
        leaving.callback(process.wait)
        leaving.callback(process.kill)
        while not (rows.exists() and b"\n" in rows.read_bytes()):
            if process.poll() is not None or time.perf_counter() - start > DEADLINE:
                raise WorkerError(f"no first update: {said.read_text()[-2000:]}")
            time.sleep(0.005)
        return time.perf_counter() - start


# ── overhead ─────────────────────────────────────────────────────────────────────────────────────


def measure_overhead(case: Case, rounds: int) -> Values:
    """Shares of a training's wall time without compilation; one round is one training."""
    chosen = get_config(case["config"])
    chosen.train.update(shard="none", num_updates=case["num_updates"], seeds=case["num_runs"])
    training = build.build(build.parse(chosen))
    _compile(training)
    found = [_round(training) for _ in range(rounds)]
    return {name: [one[name] for one in found] for name in found[0]}


def _compile(training: Training) -> None:
    """Run every program of the loop once, so that none is compiled while timing."""
    program = training.program
    state, *_ = program.advance(program.init(), training.options.log_every)
    for batch in (*training.evaluations.values(), *training.final_evaluations.values()):
        jax.block_until_ready(program.evaluate(state.params, batch))


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
            # the loop's wait, not the writing in the background
            vars(checkpoints)["save"] = _clock(saving, checkpoints.save)
            fit(training, sinks=sinks, checkpoints=checkpoints)
            trained = time.perf_counter() - start
    naming = _seconds_to_summarise(training) * len(writing) / len(sinks)
    return {
        "blocked by checkpoints, share": sum(saving) / trained,
        "logging, share": (sum(writing) + naming) / trained,
        "training, s": trained,
    }


def _clock(calls: list[float], function: Callable[..., None]) -> Callable[..., None]:
    """The function, with the seconds of each call put on a list."""

    def timed(*given: object) -> None:
        start = time.perf_counter()
        function(*given)
        calls.append(time.perf_counter() - start)

    return timed


def _seconds_to_summarise(training: Training, times: int = 50) -> float:
    """Seconds to bring the metrics of a dispatch to the host and name them."""
    program = training.program
    _, metrics, _ = program.advance(program.init(), training.options.log_every)
    jax.block_until_ready(metrics)
    start = time.perf_counter()
    for _ in range(times):
        summarise(program.layout.fetch(metrics), program.group_names, "batch")
    return (time.perf_counter() - start) / times


_E1 = {"copy.py:loss=e1": {"config": "loss=e1"}}
_TINY = {"config": "loss=e1,smoke"}


def _whole(runs: int) -> dict[str, Case]:
    words = f"copy.py:loss=e1, 7500 updates, runs: {runs}"
    return {words: {"config": "loss=e1", "num_updates": 7500, "num_runs": runs}}


RELAUNCH = Benchmark(
    measure_relaunch,
    {
        "smoke": ({"tiny": _TINY}, 1, False),
        "cpu": (_E1, 7, True),
        "gpu": (_E1, 7, True),
    },
)
OVERHEAD = Benchmark(
    measure_overhead,
    {
        "smoke": ({"tiny": {**_TINY, "num_updates": 40, "num_runs": 1}}, 1),
        "cpu": (_whole(1), 6),
        "gpu": (_whole(5), 6),
    },
)
