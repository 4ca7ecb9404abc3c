"""An update of the copy task over the time its matrix products alone take in NumPy's BLAS.

python -m experiments.bench.products --worker updates|products JSON

Each side is a process on the same core: the worker makes updates, or the matrix products of as
many.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr

from el_jax import build
from el_jax.runtime.compilation import use_compilation_cache
from el_jax.training.learner import gradient_of
from experiments.bench.paired import Benchmark, Measurement, Worker, compare, cores, serve
from experiments.bench.trainings import Updates, copy_config

Changes = dict[str, dict[str, Any]]  # section -> keys of the config


def measure(
    smoke: bool, cases: dict[str, Changes], num_updates: int, rounds: int
) -> Iterator[Measurement]:
    """The ratio, and the times of both sides, of every case.

    Args:
        smoke: True for the tiny training.
        cases: by name, what is other than in the config of the copy task.
        num_updates: updates of a timing.
        rounds: number of rounds.
    """
    core = next(iter(cores()), None)
    for case, changes in cases.items():
        asked = json.dumps([smoke, changes, num_updates])
        with ExitStack() as stack:
            ours, products = (
                stack.enter_context(Worker(__name__, ["--worker", side, asked], core))
                for side in ("updates", "products")
            )
            ours.ready()
            products.ready()
            found = compare(products.timing("products"), ours.timing("updates"), rounds)
        values = {
            "update / its matrix products": found.ratios,
            "update, ms": 1e3 * found.second_seconds / num_updates,
            "matrix products, ms": 1e3 * found.first_seconds / num_updates,
        }
        yield Measurement(case, values)


class Product(NamedTuple):
    """A batch of products ``[M, K] @ [K, N]``."""

    batch: int
    m: int
    k: int
    n: int


def products_of(jaxpr: Jaxpr) -> Iterator[Product]:
    """The matrix products of a program, those inside of its calls among them."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield _product(equation)
        for value in equation.params.values():
            if isinstance(value, ClosedJaxpr):
                yield from products_of(value.jaxpr)
            elif isinstance(value, Jaxpr):
                yield from products_of(value)


def _product(equation: Any) -> Product:
    (inner, _), (shared, _) = equation.params["dimension_numbers"]
    a, b = (variable.aval.shape for variable in equation.invars)
    batch, k = (math.prod(a[axis] for axis in axes) for axes in (shared, inner))
    return Product(batch, math.prod(a) // (batch * k), k, math.prod(b) // (batch * k))


def _multiplied(training: build.Training, num_updates: int) -> Callable[[], None]:
    """The products of the gradient of an update, so many times, in NumPy."""
    spec = training.spec
    hypers = jax.tree.map(lambda leaf: leaf[0], spec.hypers)
    key = jax.random.key(0)
    batch = jax.eval_shape(lambda: spec.task.batch_at(spec.task.train_set(), 0, key))
    params = jax.eval_shape(spec.objective.head.model.init, key)
    traced = jax.make_jaxpr(gradient_of(spec.objective))(params, batch, hypers, key)
    arrays = [_arrays(product) for product in products_of(traced.jaxpr)]

    def multiply() -> None:
        for _ in range(num_updates):
            for a, b, out in arrays:
                np.matmul(a, b, out=out)

    return multiply


def _arrays(product: Product) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two factors, and room for their product."""
    batch, m, k, n = product
    draw = np.random.default_rng(0).standard_normal
    a, b = draw((batch, m, k), np.float32), draw((batch, k, n), np.float32)
    return a, b, np.empty((batch, m, n), np.float32)


def _worker(side: str, smoke: bool, changes: Changes, num_updates: int) -> None:
    use_compilation_cache()
    config = copy_config(smoke=smoke, run_axis="map")
    for section, changed in changes.items():
        config[section].update(changed)
    training = build.build(build.parse(config))
    work = {"updates": Updates, "products": _multiplied}[side]
    serve({side: work(training, num_updates)})


_FEW = {"model": {"width": 32, "num_layers": 3}}
_PAIRS = {"task": {"strings_per_window": 2}, "model": {"width": 64, "num_layers": 2}}
BENCHMARK = Benchmark(
    measure,
    {
        "smoke": (True, {"tiny": {}}, 2, 1),
        "cpu": (False, {"3L/32, 8x55 tokens": _FEW, "2L/64, 4x110 tokens": _PAIRS}, 100, 9),
        "gpu": (False, {}, 100, 9),  # BLAS is for CPUs
    },
)

if __name__ == "__main__":
    _worker(sys.argv[2], *json.loads(sys.argv[3]))
