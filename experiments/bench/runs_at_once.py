"""Many runs of one training at once against one after another.

python -m experiments.bench.runs_at_once --worker JSON

The worker makes updates of one run or of many, in a process of its own.
"""

import itertools
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from el_jax import build
from el_jax.runtime.compilation import use_compilation_cache
from experiments.bench.paired import Benchmark, Measurement, Timing, Worker, compare, cores, serve
from experiments.bench.trainings import Updates, copy_config

ONE_BY_ONE = "one by one"


class Plan(NamedTuple):
    """A training, and the ways of making many runs of it."""

    case: str
    smoke_model: bool
    sizes: dict[str, int]  # of the model, in place of the config's
    num_runs: int
    num_updates: int
    rounds: int
    ways: tuple[str, ...]


def measure(*plans: Plan) -> Iterator[Measurement]:
    """Speed-up of each way over one run after another, and of the best way once more."""
    for plan in plans:
        with ExitStack() as stack:
            started = {way: _start(stack, plan, way) for way in (ONE_BY_ONE, *plan.ways)}
            for worker in itertools.chain.from_iterable(started.values()):
                worker.ready()
            timings = {way: _together(workers) for way, workers in started.items()}
            one_by_one = timings.pop(ONE_BY_ONE)
            found = {
                way: compare(timing, one_by_one, plan.rounds).ratios
                for way, timing in timings.items()
            }
        found["the best of these"] = max(found.values(), key=np.median)
        values = {f"one after another / {way}": ratios for way, ratios in found.items()}
        yield Measurement(f"{plan.case}, {plan.num_runs} runs of the copy task", values)


def _start(stack: ExitStack, plan: Plan, way: str) -> list[Worker]:
    """Start the processes that make the updates of all runs in one way."""

    def worker(num_runs: int, axis: str, calls: int = 1, core: int | None = None) -> Worker:
        asked = [plan.smoke_model, plan.sizes, num_runs, axis, plan.num_updates, calls]
        return stack.enter_context(Worker(__name__, ["--worker", json.dumps(asked)], core))

    if way == ONE_BY_ONE:
        return [worker(1, "map", calls=plan.num_runs)]  # no axis of one run
    if way != "processes":
        return [worker(plan.num_runs, way)]
    places = cores() or range(os.cpu_count() or 1)
    shares = [len(range(i, plan.num_runs, len(places))) for i in range(len(places))]
    return [
        worker(1, "map", calls=share, core=core)
        for core, share in zip(places, shares, strict=True)
        if share
    ]


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
    smoke: bool, sizes: dict[str, int], seeds: int, run_axis: str, num_updates: int, calls: int
) -> None:
    use_compilation_cache()
    config = copy_config(smoke=smoke, seeds=seeds, run_axis=run_axis)
    config.model.update(sizes)
    serve({"updates": Updates(build.build(build.parse(config)), num_updates, calls)})


_LARGER = {"width": 128, "num_layers": 4, "num_heads": 4}
BENCHMARK = Benchmark(
    measure,
    {
        "smoke": (Plan("CPU", True, {}, 2, 2, 1, ("vmap", "processes")),),
        "cpu": (Plan("CPU", False, {}, 10, 10, 9, ("vmap", "map", "processes")),),
        "gpu": (
            Plan("GPU", False, {}, 10, 100, 10, ("vmap", "map")),
            Plan("GPU, 4L/128", False, _LARGER, 10, 100, 10, ("vmap", "map")),
        ),
    },
)

if __name__ == "__main__":
    _worker(*json.loads(sys.argv[2]))
