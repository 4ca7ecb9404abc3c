"""Operations and bytes of a program's matrix products, counted in its trace.

The count follows the program of any model: it includes only supervised queries in the last block,
only the logits of supervised positions, and each recomputed product twice. Loop bodies count as
often as they run. Sums, norms and other elementwise work are left out.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn


class Products(NamedTuple):
    """The matrix products of a program.

    Attributes:
        operations: by arithmetic ("bfloat16", "float32", "float32_highest", ...); a multiplication
            and an addition count as two.
        num_bytes: bytes of all operands and results, as often as products read or write them.
    """

    operations: dict[str, float]
    num_bytes: float

    @property
    def total(self) -> float:
        """Operations in all arithmetics together."""
        return sum(self.operations.values())


def count_products(function: Any, *args: Any) -> Products:
    """Count the products of ``function(*args)``.

    Args:
        function: the function, which is traced but not run.
        *args: arrays, or ``jax.ShapeDtypeStruct`` in their place.
    """
    operations: defaultdict[str, float] = defaultdict(float)
    num_bytes = 0.0
    for eqn, times in _products(jax.make_jaxpr(function)(*args).jaxpr, 1):
        operations[_arithmetic(eqn)] += times * _operations(eqn)
        num_bytes += times * sum(_size(v) for v in (*eqn.invars, *eqn.outvars))
    return Products(dict(operations), num_bytes)


def _products(jaxpr: Jaxpr, times: int) -> Iterator[tuple[JaxprEqn, int]]:
    """Every product, with the number of times it is computed."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "dot_general":
            yield eqn, times
        turns = eqn.params["length"] if eqn.primitive.name == "scan" else 1
        for inner in _inner(eqn.params.values()):
            yield from _products(inner, times * turns)


def _inner(values: Any) -> Iterator[Jaxpr]:
    for value in values:
        if isinstance(value, ClosedJaxpr):
            yield value.jaxpr
        elif isinstance(value, Jaxpr):
            yield value
        elif isinstance(value, tuple | list):
            yield from _inner(value)


def _operations(eqn: JaxprEqn) -> float:
    (contracted, _), _ = eqn.params["dimension_numbers"]
    left, out = _array(eqn.invars[0]), _array(eqn.outvars[0])
    return 2.0 * math.prod(out.shape) * math.prod(left.shape[i] for i in contracted)


def _arithmetic(eqn: JaxprEqn) -> str:
    name = str(_array(eqn.invars[0]).dtype)
    precision = eqn.params["precision"]
    highest = precision is not None and jax.lax.Precision.HIGHEST in tuple(precision)
    return f"{name}_highest" if highest and name == "float32" else name


def _size(variable: Any) -> int:
    array = _array(variable)
    return math.prod(array.shape) * array.dtype.itemsize


def _array(variable: Any) -> jax.core.ShapedArray:
    return variable.aval
