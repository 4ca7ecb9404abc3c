"""Every benchmark in a fresh process; a timing round is a seed in the tables."""

import concurrent.futures
import dataclasses
import multiprocessing
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jax.extend.backend import clear_backends

from el_jax.checkpoint_step import config_hash
from el_jax.process.compilation import use_compilation_cache
from experiments.bench import (
    curvature,
    curvature_peers,
    losses,
    max_margin,
    pytorch,
    runs_at_once,
    training_loop,
)
from experiments.bench.paired import Benchmark, NotMeasuredError, cores
from experiments.harness.discovery import ExperimentError
from experiments.harness.joined import join
from experiments.harness.names import name_of
from experiments.harness.provenance import gather_provenance, write_provenance
from experiments.harness.tables import CURVES, tidy, write_table

BENCHMARKS: dict[str, Benchmark] = {
    "pytorch": pytorch.BENCHMARK,
    "losses": losses.LOSSES,
    "fused": losses.FUSED,
    "runs_at_once": runs_at_once.BENCHMARK,
    "last_block": losses.LAST_BLOCK,
    "relaunch": training_loop.RELAUNCH,
    "overhead": training_loop.OVERHEAD,
    "max_margin": max_margin.BENCHMARK,
    "curvature": curvature.CURVATURE,
    "curvature_peers": curvature_peers.BENCHMARK,
    "fisher": curvature.FISHER,
}


def run(scale: str, out: Path, only: Sequence[str] = ()) -> None:
    """Measure and write the tables.

    Raises:
        ExperimentError: a name in ``only`` is not a benchmark.
    """
    if unknown := [name for name in only if name not in BENCHMARKS]:
        known = ", ".join(BENCHMARKS)
        raise ExperimentError(f"bench has no {', '.join(unknown)}; there are: {known}.")
    names = [name for name in BENCHMARKS if not only or name in only]
    with tempfile.TemporaryDirectory() as folder:
        parts = [Path(folder) / name for name in names]
        for name, part in zip(names, parts, strict=True):
            started = time.monotonic()
            measure_apart(name, scale, part)
            print(f"bench: {name}, {time.monotonic() - started:.0f} s", flush=True)
        join(parts, out)


def measure_apart(name: str, scale: str, out: Path) -> None:
    """Measure one benchmark in its own process, and write its tables into a new folder."""
    clear_backends()  # leave an accelerator's memory to the measuring processes
    if scale != "gpu":  # read when jax is imported, there and in every process it starts
        os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
        pool.submit(measure, name, scale, out).result()


def measure(name: str, scale: str, out: Path) -> None:
    """Measure one benchmark in this process, and write its tables into a new folder."""
    benchmark = BENCHMARKS[name]
    if benchmark.one_core and scale != "gpu" and cores():
        os.sched_setaffinity(0, cores()[:1])
    use_compilation_cache()
    cases, *options = benchmark.plans[scale]
    rows: list[dict[str, Any]] = []
    seconds, reasons, hashes = dict[str, float](), dict[str, str](), dict[str, str]()
    for case in cases.values():
        factors = {"benchmark": name, **case}
        started = time.monotonic()
        try:
            for metric, by_round in benchmark.measure(case, *options).items():
                of_metric = factors | {"metric": metric}
                rounds = enumerate(np.atleast_1d(by_round))
                rows += [of_metric | {"seed": i, "value": value} for i, value in rounds]
        except NotMeasuredError as error:
            reasons[name_of(factors)] = str(error)
        seconds[name_of(factors)] = time.monotonic() - started
        hashes[name_of(factors)] = config_hash({"case": factors, "options": repr(options)})
    gathered = gather_provenance("bench", scale, config_hashes=hashes, wall_seconds=seconds)
    out.mkdir()
    write_table(out / "results.csv", tidy(rows))
    write_table(out / "curves.csv", tidy([], CURVES))
    provenance = dataclasses.replace(gathered, not_measured=reasons)
    write_provenance(out / "provenance.json", provenance)
