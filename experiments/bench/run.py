"""Every benchmark in a fresh process; a timing round is a seed in the tables."""

import concurrent.futures
import multiprocessing
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jax.extend.backend import clear_backends

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
from experiments.harness.names import name_of
from experiments.harness.seeds import write_tables
from experiments.harness.tables import CURVES, tidy

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


class Measured(NamedTuple):
    """What one benchmark measured.

    Attributes:
        rows: rows of results.csv.
        seconds: wall time of each case.
        reasons: case -> the reason why it could not be measured.
    """

    rows: list[dict[str, Any]]
    seconds: dict[str, float]
    reasons: dict[str, str]


def run(
    name: str, scale: str, out: Path, *, only: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Measure the benchmarks, or those that ``only`` names, and write the tables.

    Raises:
        ExperimentError: a name in ``only`` is not a benchmark.
    """
    chosen = only["benchmark"] if only else tuple(BENCHMARKS)
    if unknown := [one for one in chosen if one not in BENCHMARKS]:
        known = ", ".join(BENCHMARKS)
        raise ExperimentError(f"bench has no {', '.join(unknown)}; there are: {known}.")
    found = Measured([], {}, {})
    for one in filter(chosen.__contains__, BENCHMARKS):
        started = time.monotonic()
        part = measure_apart(one, scale)
        found.rows.extend(part.rows)
        found.seconds.update(part.seconds)
        found.reasons.update(part.reasons)
        print(f"bench: {one}, {time.monotonic() - started:.0f} s", flush=True)
    write_tables(
        name,
        scale,
        out,
        results=tidy(found.rows),
        curves=tidy([], CURVES),
        wall_seconds=found.seconds,
        not_measured=found.reasons,
    )


def measure_apart(name: str, scale: str) -> Measured:
    """Measure one benchmark in its own process."""
    clear_backends()  # leave an accelerator's memory to the measuring processes
    if scale != "gpu":  # read when jax is imported, there and in every process it starts
        os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
        return pool.submit(measure, name, scale).result()


def measure(name: str, scale: str) -> Measured:
    """Measure one benchmark in this process."""
    benchmark = BENCHMARKS[name]
    if benchmark.one_core and scale != "gpu" and cores():
        os.sched_setaffinity(0, cores()[:1])
    use_compilation_cache()
    cases, *options = benchmark.plans[scale]
    found = Measured([], {}, {})
    for case in cases.values():
        factors = {"benchmark": name, **case}
        started = time.monotonic()
        try:
            for metric, by_round in benchmark.measure(case, *options).items():
                of_metric = factors | {"metric": metric}
                rounds = enumerate(np.atleast_1d(by_round))
                found.rows.extend(of_metric | {"seed": i, "value": value} for i, value in rounds)
        except NotMeasuredError as error:
            found.reasons[name_of(factors)] = str(error)
        found.seconds[name_of(factors)] = time.monotonic() - started
    return found
