"""Many runs of one training, at once against one after another.

python -m experiments.bench.runs_at_once JSON

The worker makes updates of one run or of many, in its own process.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from el_jax import build
from el_jax.process.compilation import use_compilation_cache
from experiments.bench.paired import (
    Benchmark,
    Case,
    Timing,
    Values,
    Worker,
    compare,
    cores,
    serve,
)
from experiments.bench.trainings import Updates, copy_config


def measure(case: Case, smoke: bool, num_updates: int, rounds: int, ways: Sequence[str]) -> Values:
    """Speed-up of each way over one run after another, and the best way's once more."""
    num_runs = case["num_runs"]
    model = {name: case[name] for name in ("width", "num_layers", "num_heads") if name in case}
    with ExitStack() as stack:

        def worker(runs: int, axis: str, calls: int = 1, core: int | None = None) -> Worker:
            asked = json.dumps([smoke, model, runs, axis, num_updates, calls])
            return stack.enter_context(Worker(__name__, [asked], core))

        def started(way: str) -> list[Worker]:
            if way != "processes":
                return [worker(num_runs, way)]
            places = cores() or range(os.cpu_count() or 1)
            shares = [len(range(i, num_runs, len(places))) for i in range(len(places))]
            by_core = zip(places, shares, strict=True)
            return [worker(1, "map", calls=share, core=core) for core, share in by_core if share]

        one_by_one = [worker(1, "map", calls=num_runs)]  # no axis of one run
        at_once = {way: started(way) for way in ways}
        for one in (*one_by_one, *(one for workers in at_once.values() for one in workers)):
            one.ready()
        found = {
            way: compare(_together(workers), _together(one_by_one), rounds).ratios
            for way, workers in at_once.items()
        }
    found["the best of these"] = max(found.values(), key=np.median)
    return {f"one after another / {way}": ratios for way, ratios in found.items()}


def _together(workers: Sequence[Worker]) -> Timing:
    """Seconds until all workers are done."""

    def seconds() -> float:
        start = time.perf_counter()
        for worker in workers:
            worker.start("updates")
        for worker in workers:
            worker.finish()
        return time.perf_counter() - start

    return seconds


def _worker(
    smoke: bool, model: Case, seeds: int, run_axis: str, num_updates: int, calls: int
) -> None:
    use_compilation_cache()
    config = copy_config(smoke=smoke, seeds=seeds, run_axis=run_axis)
    config.model.update(model)
    serve({"updates": Updates(build.build(build.parse(config)), num_updates, calls)})


_GPU = {"device": "gpu", "num_runs": 10}
_CASES = {
    "GPU, 10 runs of the copy task": _GPU,
    "GPU, 4L/128, 10 runs of the copy task": {
        **_GPU,
        "num_layers": 4,
        "width": 128,
        "num_heads": 4,
    },
}
_TINY = {"tiny": {"device": "cpu", "num_runs": 2}}
_CPU = {"CPU, 10 runs of the copy task": {"device": "cpu", "num_runs": 10}}
BENCHMARK = Benchmark(
    measure,
    {
        "smoke": (_TINY, True, 2, 1, ("vmap", "processes")),
        "cpu": (_CPU, False, 10, 9, ("vmap", "map", "processes")),
        "gpu": (_CASES, False, 100, 10, ("vmap", "map")),
    },
)

if __name__ == "__main__":
    _worker(*json.loads(sys.argv[1]))
