"""Many runs of one training at once against one after another."""

import itertools
import json
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from experiments.bench.paired import Timing, compare
from experiments.bench.rows import Goal, Row, at_least, estimated
from experiments.bench.scales import Scale
from experiments.bench.worker import Worker, cores

NAME = "runs_at_once"
GOALS: dict[Scale, Goal] = {"smoke": at_least(1.2), "cpu": at_least(1.2), "gpu": at_least(8.0)}
ONE_BY_ONE = "one by one"
MODULE = "experiments.bench.runs_worker"


class _Plan(NamedTuple):
    smoke_model: bool
    sizes: dict[str, int]  # of the model, in place of the config's
    num_runs: int
    num_updates: int
    rounds: int
    ways: tuple[str, ...]


_LARGER = {"width": 128, "num_layers": 4, "num_heads": 4}
_PLANS: dict[Scale, dict[str, _Plan]] = {
    "smoke": {"copy task": _Plan(True, {}, 2, 2, 1, ("vmap", "processes"))},
    "cpu": {"copy task": _Plan(False, {}, 10, 10, 9, ("vmap", "map", "processes"))},
    "gpu": {
        "copy task": _Plan(False, {}, 10, 100, 10, ("vmap", "map")),
        "copy task, 4L/128": _Plan(False, _LARGER, 10, 100, 10, ("vmap", "map")),
    },
}


def measure(scale: Scale) -> list[Row]:
    """Speed-up of each way over one run after another; the goal is for the best way."""
    return [
        row for case, plan in _PLANS[scale].items() for row in _compare(case, plan, GOALS[scale])
    ]


def _compare(task: str, plan: _Plan, goal: Goal) -> list[Row]:
    case = f"{task}, {plan.num_runs} runs"
    with ExitStack() as stack:
        started = {way: _start(stack, plan, way) for way in (ONE_BY_ONE, *plan.ways)}
        for worker in itertools.chain.from_iterable(started.values()):
            worker.ready()
        timings = {way: _together(workers) for way, workers in started.items()}
        one_by_one = timings.pop(ONE_BY_ONE)
        found = {way: compare(timing, one_by_one, plan.rounds) for way, timing in timings.items()}
    best = max(found, key=lambda way: found[way].ratio.value)
    quantities = {way: f"one after another / {way}" for way in found}
    return [
        *(estimated(NAME, case, quantities[way], found[way].ratio) for way in found),
        estimated(NAME, case, "one after another / the best of these", found[best].ratio, goal),
    ]


def _start(stack: ExitStack, plan: _Plan, way: str) -> list[Worker]:
    """Start the processes that make the updates of all runs in one way."""
    if way == ONE_BY_ONE:
        return [_worker(stack, plan, 1, "map", calls=plan.num_runs)]  # no axis of one run
    if way != "processes":
        return [_worker(stack, plan, plan.num_runs, way)]
    places = cores() or range(os.cpu_count() or 1)
    shares = [len(range(i, plan.num_runs, len(places))) for i in range(len(places))]
    return [
        _worker(stack, plan, 1, "map", calls=share, core=core)
        for core, share in zip(places, shares, strict=True)
        if share
    ]


def _worker(
    stack: ExitStack, plan: _Plan, num_runs: int, way: str, calls: int = 1, core: int | None = None
) -> Worker:
    asked = {
        "smoke": plan.smoke_model,
        "sizes": plan.sizes,
        "seeds": num_runs,
        "run_axis": way,
        "num_updates": plan.num_updates,
        "calls": calls,
    }
    return stack.enter_context(Worker(MODULE, [json.dumps(asked)], core))


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
