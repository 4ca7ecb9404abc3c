"""All benchmarks, each measured in a fresh process, and the files their rows go to."""

import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from el_jax.runtime import arithmetic
from el_jax.runtime.compilation import use_compilation_cache
from experiments.bench import (
    fused,
    gpt2,
    last_block,
    losses,
    max_margin,
    overhead,
    pytorch,
    relaunch,
    runs_at_once,
)
from experiments.bench.rows import Row, merge, read_rows, write_rows
from experiments.bench.scales import Scale
from experiments.bench.worker import cores, use_cores
from experiments.harness.provenance import Provenance, gather_provenance

RESULTS, PROVENANCE = "results.csv", "provenance.json"
BENCHMARKS: dict[str, Callable[[Scale], list[Row]]] = {
    pytorch.NAME: pytorch.measure,
    losses.NAME: losses.measure,
    fused.NAME: fused.measure,
    runs_at_once.NAME: runs_at_once.measure,
    last_block.NAME: last_block.measure,
    relaunch.NAME: relaunch.measure,
    overhead.NAME: overhead.measure,
    gpt2.NAME: gpt2.measure,
    max_margin.NAME: max_margin.measure,
}
# these start processes of their own, or are a training as people start it; the others compute on
# one core, where a neighbour's threads disturb them least
ALL_CORES = {
    pytorch.NAME,
    runs_at_once.NAME,
    relaunch.NAME,
    overhead.NAME,
    gpt2.NAME,
    max_margin.NAME,
}


def run_apart(name: str, scale: Scale) -> tuple[list[Row], Provenance]:
    """Measure one benchmark in a process of its own; return its rows and their provenance."""
    _choose_platform(scale)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
        return pool.submit(_run, name, scale).result()


def _choose_platform(scale: Scale) -> None:
    # read when jax is imported, here and in every process that is started
    if scale != "gpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def _run(name: str, scale: Scale) -> tuple[list[Row], Provenance]:
    if name not in ALL_CORES and scale != "gpu":
        use_cores(cores()[:1])
    use_compilation_cache()
    arithmetic.check()
    start = time.monotonic()
    rows = list(BENCHMARKS[name](scale))
    return rows, _provenance(name, scale, time.monotonic() - start)


def _provenance(name: str, scale: Scale, seconds: float) -> Provenance:
    gathered = gather_provenance(name, scale, config_hashes={}, wall_seconds={})
    return dataclasses.replace(
        gathered,
        command=f"python -m experiments.bench {name} --scale={scale}",
        wall_seconds={name: float(f"{seconds:.3g}")},
        hardware={**gathered.hardware, "processor": _processor()},
    )


def _processor() -> str:
    """The model of the CPU."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def update_files(folder: Path, rows: Sequence[Row], provenances: dict[str, Provenance]) -> None:
    """Put the rows of some benchmarks in place of the old ones; those of others stay.

    Args:
        folder: the folder of results.csv and provenance.json, which may not exist yet.
        rows: the rows measured.
        provenances: the provenance of each benchmark measured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results, provenance = folder / RESULTS, folder / PROVENANCE
    old = read_rows(results) if results.exists() else []
    write_rows(results, merge(old, rows, list(BENCHMARKS)))
    known = json.loads(provenance.read_text(encoding="utf-8")) if provenance.exists() else {}
    known |= {name: dataclasses.asdict(value) for name, value in provenances.items()}
    kept = {name: known[name] for name in BENCHMARKS if name in known}
    provenance.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")
