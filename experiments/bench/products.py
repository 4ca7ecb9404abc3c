"""An update of the copy task over the time its matrix products alone take in NumPy's BLAS."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

from experiments.bench.measurement import Measurement
from experiments.bench.paired import compare
from experiments.bench.worker import Worker, cores

MODULE = "experiments.bench.products_worker"


class Plan(NamedTuple):
    """Trainings on one core, and the number of their updates in each timing."""

    smoke_model: bool
    cases: dict[str, dict[str, dict[str, Any]]]  # name -> section -> keys of the config
    num_updates: int
    rounds: int


_FEW = {"model": {"width": 32, "num_layers": 3}}
_PAIRS = {"task": {"strings_per_window": 2}, "model": {"width": 64, "num_layers": 2}}
PLANS = {
    "smoke": Plan(True, {"tiny": {}}, 2, 1),
    "cpu": Plan(False, {"3L/32, 8x55 tokens": _FEW, "2L/64, 4x110 tokens": _PAIRS}, 100, 9),
    "gpu": Plan(False, {}, 100, 9),  # BLAS is for CPUs
}


def measure(plan: Plan) -> Iterator[Measurement]:
    """The ratio, and the times of both sides, of every case."""
    core = next(iter(cores()), None)
    for case, changes in plan.cases.items():
        asked = {"smoke": plan.smoke_model, "changes": changes, "num_updates": plan.num_updates}
        with ExitStack() as stack:
            ours, products = (
                stack.enter_context(Worker(MODULE, [side, json.dumps(asked)], core))
                for side in ("updates", "products")
            )
            ours.ready()
            products.ready()
            found = compare(products.timing("products"), ours.timing("updates"), plan.rounds)
        yield Measurement(
            case,
            {
                "update / its matrix products": found.ratios,
                "update, ms": 1e3 * found.second_seconds / plan.num_updates,
                "matrix products, ms": 1e3 * found.first_seconds / plan.num_updates,
            },
        )
