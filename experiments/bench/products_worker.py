"""Updates of the copy task, or the matrix products of as many, in a process of its own.

python -m experiments.bench.products_worker updates|products JSON
"""

import json
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr

from el_jax import build
from el_jax.runtime.compilation import use_compilation_cache
from el_jax.training.step import gradient_of
from experiments.bench.trainings import Updates, copy_config
from experiments.bench.worker import serve


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


def _main(side: str, asked: dict[str, Any]) -> None:
    use_compilation_cache()
    config = copy_config(smoke=asked["smoke"], run_axis="map")
    for section, changes in asked["changes"].items():
        config[section].update(changes)
    training = build.build(build.parse(config))
    num_updates = asked["num_updates"]
    work = {"updates": Updates, "products": _multiplied}[side]
    serve({side: work(training, num_updates)})


if __name__ == "__main__":
    _main(sys.argv[1], json.loads(sys.argv[2]))
