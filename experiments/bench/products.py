"""An update of the copy task over the time its matrix products alone take in NumPy's BLAS.

python -m experiments.bench.products updates|products JSON

Each side is a process on the same core: the worker makes updates, or the matrix products of as
many.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr

from el_jax import build
from el_jax.process.compilation import use_compilation_cache
from experiments.bench.paired import Benchmark, Case, Values, compare, serve, two_workers
from experiments.bench.trainings import Updates, copy_config


def measure(case: Case, smoke: bool, num_updates: int, rounds: int) -> Values:
    """The ratio, and the times of both sides."""
    asked = [json.dumps([dict(case), smoke, num_updates])]
    with two_workers(__name__, ("updates", "products"), asked) as (ours, products):
        found = compare(products.timing("products"), ours.timing("updates"), rounds)
    return {
        "update / its matrix products": found.ratios,
        "update, ms": 1e3 * found.second_seconds / num_updates,
        "matrix products, ms": 1e3 * found.first_seconds / num_updates,
    }


Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]  # two random factors, room for their product


def products_of(jaxpr: Jaxpr) -> Iterator[Arrays]:
    """The matrix products of a program, those inside of its calls among them."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield _arrays(equation)
        for value in equation.params.values():
            if isinstance(value, ClosedJaxpr):
                yield from products_of(value.jaxpr)
            elif isinstance(value, Jaxpr):
                yield from products_of(value)


def _arrays(equation: Any) -> Arrays:
    """A product as a batch of ``[M, K] @ [K, N]``."""
    (inner, _), (shared, _) = equation.params["dimension_numbers"]
    a, b = (variable.aval.shape for variable in equation.invars)
    batch, k = (math.prod(a[axis] for axis in axes) for axes in (shared, inner))
    m, n = (math.prod(shape) // (batch * k) for shape in (a, b))
    draw = np.random.default_rng(0).standard_normal
    first, second = draw((batch, m, k), np.float32), draw((batch, k, n), np.float32)
    return first, second, np.empty((batch, m, n), np.float32)


def _multiplied(training: build.Training, num_updates: int) -> Callable[[], None]:
    """The products of the gradient of an update, so many times, in NumPy."""
    spec = training.spec
    hypers = jax.tree.map(lambda leaf: leaf[0], spec.hypers)
    key = jax.random.key(0)
    batch = jax.eval_shape(lambda: spec.task.batch_at(spec.task.train_set(), 0, key))
    params = jax.eval_shape(spec.objective.head.model.init, key)
    gradient = jax.value_and_grad(spec.objective.loss, has_aux=True)
    traced = jax.make_jaxpr(gradient)(params, batch, hypers.loss, key)
    arrays = list(products_of(traced.jaxpr))

    def multiply() -> None:
        for _ in range(num_updates):
            for a, b, out in arrays:
                np.matmul(a, b, out=out)

    return multiply


def _worker(side: str, case: Case, smoke: bool, num_updates: int) -> None:
    use_compilation_cache()
    config = copy_config(smoke=smoke, run_axis="map")
    for name, value in case.items():
        config["task" if name == "strings_per_window" else "model"][name] = value
    training = build.build(build.parse(config))
    work = {"updates": Updates, "products": _multiplied}[side]
    serve({side: work(training, num_updates)})


_CASES = {
    "3L/32, 8x55 tokens": {"num_layers": 3, "width": 32, "strings_per_window": 1},
    "2L/64, 4x110 tokens": {"num_layers": 2, "width": 64, "strings_per_window": 2},
}
BENCHMARK = Benchmark(
    measure,
    {
        "smoke": ({"tiny": {"num_layers": 1, "width": 8, "strings_per_window": 1}}, True, 2, 1),
        "cpu": (_CASES, False, 100, 9),
        "gpu": ({},),  # BLAS is for CPUs
    },
)

if __name__ == "__main__":
    _worker(sys.argv[1], *json.loads(sys.argv[2]))
