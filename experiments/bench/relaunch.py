"""Seconds from starting a training's command to its first finished update, cold and warm."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from experiments.bench.paired import ROOT, Benchmark, Measurement, WorkerError

DEADLINE = 600.0  # seconds for a start


def measure(config: str, starts: int, own_cache: bool) -> Iterator[Measurement]:
    """Seconds of a cold start and of warm ones.

    Args:
        config: what follows ``copy.py:`` on the command line.
        starts: number of warm starts.
        own_cache: True to begin with an empty cache; otherwise it is the user's, and no start cold.
    """
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) if own_cache else None
        cold = [first_update(config, cache) for _ in range(own_cache)]
        warm = [first_update(config, cache) for _ in range(starts)]
    values = {"warm start to first update, s": warm, "cold start to first update, s": cold}
    yield Measurement(f"copy.py:{config}", values)


def first_update(config: str, cache: Path | None) -> float:
    """Seconds from starting ``python -m el_jax.train`` until the row of update 1 is on disk.

    The loop writes the row of an update after it has dispatched the next one.

    Raises:
        WorkerError: the command ended, or took too long.
    """
    environment = dict(os.environ)
    if cache is not None:
        environment["JAX_COMPILATION_CACHE_DIR"] = str(cache)
    with tempfile.TemporaryDirectory() as workdir:
        command = [
            *(sys.executable, "-m", "el_jax.train"),
            f"--config=configs/el/copy.py:{config}",
            f"--workdir={workdir}",
            "--config.train.log_every=1",
            *(
                f"--config.train.{name}=100000"
                for name in ("num_updates", "eval_every", "checkpoint_every")
            ),
        ]
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            rows = Path(workdir) / "metrics.jsonl"
            while not (rows.exists() and b"\n" in rows.read_bytes()):
                if process.poll() is not None or time.perf_counter() - start > DEADLINE:
                    process.kill()
                    said, _ = process.communicate()
                    raise WorkerError(f"no first update: {said[-2000:]}")
                time.sleep(0.005)
            return time.perf_counter() - start
        finally:
            process.kill()
            process.communicate()


BENCHMARK = Benchmark(
    measure,
    {
        "smoke": ("loss=e1,smoke", 1, False),
        "cpu": ("loss=e1", 7, True),
        "gpu": ("loss=e1", 7, True),
    },
)
