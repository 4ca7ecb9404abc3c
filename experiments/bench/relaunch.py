"""Seconds from starting a training's command to its first finished update, by parts."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.bench.measurement import Measurement
from experiments.bench.worker import ROOT, WorkerError

DEADLINE = 600.0  # seconds for a start


class Plan(NamedTuple):
    """A training, and the number of times it is started."""

    config: str
    starts: int
    own_cache: bool  # otherwise the user's, and no cold start


PLANS = {
    "smoke": Plan("loss=e1,smoke", 1, own_cache=False),
    "cpu": Plan("loss=e1", 7, own_cache=True),
    "gpu": Plan("loss=e1", 7, own_cache=True),
}


def measure(plan: Plan) -> Iterator[Measurement]:
    """Seconds of a cold start, of a warm one, and of the parts of another warm one."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) if plan.own_cache else None
        cold = [first_update(plan.config, cache) for _ in range(plan.own_cache)]
        warm = [first_update(plan.config, cache) for _ in range(plan.starts)]
        parts = [_parts(plan.config, cache) for _ in range(plan.starts)]
    values = {"warm start to first update, s": warm, "cold start to first update, s": cold}
    values |= {f"warm: {name}, s": [part[name] for part in parts] for name in parts[0]}
    yield Measurement(f"copy.py:{plan.config}", values)


def arguments(config: str, workdir: str | Path) -> list[str]:
    """Arguments of a training that writes a row after each update and evaluates only at its end."""
    return [
        f"--config=configs/el/copy.py:{config}",
        f"--workdir={workdir}",
        "--config.train.log_every=1",
        "--config.train.num_updates=100000",
        "--config.train.eval_every=100000",
        "--config.train.checkpoint_every=100000",
    ]


def first_update(config: str, cache: Path | None) -> float:
    """Seconds from starting ``python -m el_jax.train`` until the row of update 1 is on disk.

    The loop writes the row of an update after it has dispatched the next one.
    """
    with tempfile.TemporaryDirectory() as workdir:
        start = time.perf_counter()
        process = _start(["-m", "el_jax.train", *arguments(config, workdir)], cache)
        try:
            rows = Path(workdir) / "metrics.jsonl"
            while not (rows.exists() and b"\n" in rows.read_bytes()):
                _check_running(process, start)
                time.sleep(0.005)
            return time.perf_counter() - start
        finally:
            process.kill()
            process.communicate()


def _start(words: Sequence[str], cache: Path | None) -> subprocess.Popen[str]:
    environment = {**os.environ, "STARTED": repr(time.time())}
    if cache is not None:
        environment["JAX_COMPILATION_CACHE_DIR"] = str(cache)
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _check_running(process: subprocess.Popen[str], start: float) -> None:
    if process.poll() is not None or time.perf_counter() - start > DEADLINE:
        process.kill()
        said, _ = process.communicate()
        raise WorkerError(f"no first update: {said[-2000:]}")


def _parts(config: str, cache: Path | None) -> dict[str, float]:
    """Seconds of each part of a start, from ``relaunch_parts``."""
    with tempfile.TemporaryDirectory() as workdir:
        words = ["-m", "experiments.bench.relaunch_parts", *arguments(config, workdir)]
        process = _start(words, cache)
        said, _ = process.communicate(timeout=DEADLINE)
    if process.returncode:
        raise WorkerError(f"no start: {said[-2000:]}")
    return json.loads(said.splitlines()[-1])
