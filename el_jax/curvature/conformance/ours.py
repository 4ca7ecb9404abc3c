"""The curvature of el_jax in the interface of :mod:`el_jax.curvature.conformance`."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from el_jax.curvature.conformance.problems import IGNORED, Batch, Matrix, Problem
from el_jax.curvature.hessian import GaussNewton, Hessian, SampledHessian
from el_jax.types import Key

Tree = Mapping[str, np.ndarray]
Static = tuple[str, str, str, Matrix]  # the static part of a problem, without its arrays


def product(problem: Problem) -> Callable[[Tree], Tree]:
    """The product with the matrix of a problem."""
    return partial(_product, _static(problem), problem.params, problem.all_data())


def top(problem: Problem, num: int) -> np.ndarray:
    """Its largest eigenvalues, by Lanczos."""
    with jax.enable_x64(True):
        return np.asarray(_top(_static(problem), problem.params, problem.all_data(), num))


def trace(problem: Problem, seed: int) -> tuple[float, float, float]:
    """The trace of its Hessian, with the errors of probes, and of probes and examples."""
    with jax.enable_x64(True):
        key = jax.random.key(seed)
        found = _trace(_static(problem), problem.params, problem.all_data(), key)
    return float(found[0]), float(found[1]), float(found[2])


def _static(problem: Problem) -> Static:
    return problem.network, problem.data, problem.dtype, problem.matrix


def _operator(static: Static, params: Any, data: Batch) -> GaussNewton | SampledHessian:
    params = {name: jnp.asarray(value, static[2]) for name, value in params.items()}
    problem = Problem(*static, params, ())
    if problem.matrix == "gauss_newton":
        return GaussNewton(
            lambda at: problem.logits(at, data.tokens),
            lambda logits: problem.cross_entropy(logits, data.labels),
            params,
        )
    # a window's weight is its number of supervised positions
    weights = (data.labels != IGNORED).sum(1).astype(problem.dtype)

    def loss(at: Any, example: Batch) -> Array:
        return problem.loss(at, Batch(example.tokens[None], example.labels[None]))

    return Hessian(loss, params).over(Batch(*map(jnp.asarray, data)), weights=weights, chunk=64)


@partial(jax.jit, static_argnums=0)
def _product(static: Static, params: Any, data: Batch, v: Any) -> Any:
    v = {name: jnp.asarray(x, static[2]) for name, x in v.items()}
    return _operator(static, params, data).matvec(v)


@partial(jax.jit, static_argnums=(0, 3))
def _top(static: Static, params: Any, data: Batch, num: int) -> Array:
    return _operator(static, params, data).eigenvalues(jax.random.key(0), num).values


@partial(jax.jit, static_argnums=0)
def _trace(static: Static, params: Any, data: Batch, key: Key) -> tuple[Array, Array, Array]:
    operator = _operator(static, params, data)
    assert isinstance(operator, SampledHessian)
    found = operator.sampled_trace(key, 16)
    return found.mean, found.probe_sem, found.sem
