"""Judge products, eigenvalues and traces on problems with known answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from el_jax.curvature.checks import OperatorError, check_operator
from el_jax.curvature.conformance.problems import (
    IGNORED,
    LENGTH,
    VOCAB,
    Batch,
    Problem,
    rounded,
)

Tree = Mapping[str, np.ndarray]
Product = Callable[[Problem], Callable[[Tree], Tree]]
Trace = Callable[[Problem, int], Sequence[float]]
ALLOWED = {"float64": 1e-9, "float32": 1e-4, "bfloat16": 0.1}  # relative errors
COVERED = 0.93, 0.97  # for intervals of nominal 95 %


class Verdict(NamedTuple):
    """The result of a product on a problem.

    Attributes:
        problem: the problem.
        error: relative error of the product, the largest of the laws; NaN if it raised.
        broken: the broken laws; empty if there are none.
    """

    problem: Problem
    error: float
    broken: str


def judge(product: Product, problem: Problem) -> Verdict | None:
    """Check that a product is linear, symmetric, exact, and depends on the given parameters.

    Returns:
        None if it raises ``NotImplementedError``: the tool does not have such a matrix.
    """

    def rounded_tree(tree: Any) -> Tree:
        return {name: rounded(tree[name], problem.dtype) for name in problem.params}

    def matvec(params: Any, v: Any) -> Any:
        found = product(problem.at(rounded_tree(params)))(rounded_tree(v))
        return {name: jnp.asarray(np.asarray(x), jnp.float64) for name, x in found.items()}

    with jax.enable_x64(True):
        params = {name: jnp.asarray(x, jnp.float64) for name, x in problem.params.items()}
        allowed, dense = ALLOWED[problem.dtype], problem.dense()
        try:
            errors = check_operator(
                matvec, params, jax.random.key(0), dense=dense, tolerance=allowed
            )
        except NotImplementedError:
            return None
        except OperatorError as error:
            return Verdict(problem, error.largest, str(error))
        except Exception as error:
            return Verdict(problem, np.nan, f"{type(error).__name__}: {error}")
        del errors["parameters"]  # a change, not an error
        return Verdict(problem, max(errors.values()), "")


def top_error(top: Callable[[Problem, int], Sequence[float]], problem: Problem) -> float:
    """Error of the three largest eigenvalues, over the largest."""
    exact = np.linalg.eigvalsh(problem.dense())[::-1][:3]
    return float(np.abs(np.sort(top(problem, 3))[::-1] - exact).max() / exact[0])


def coverage(trace: Trace, problem: Problem, truth: float, num: int, which: int) -> float:
    """The share of seeds whose 95 % interval holds the truth.

    Args:
        trace: the estimator.
        problem: the problem; with ``which`` 2, each seed has its own sample of :func:`population`.
        truth: the trace.
        num: number of seeds.
        which: the stated error to use: 1 of the probes, 2 of probes and examples.
    """
    held = 0
    for seed in range(num):
        found = trace(sample(problem, seed) if which == 2 else problem, seed)
        held += abs(found[0] - truth) < 1.96 * found[which]
    return held / num


def population() -> tuple[Batch, np.ndarray]:
    """All windows of an enumerated world, one label each, and their probabilities."""
    rng = np.random.default_rng(1)
    tokens = np.stack(np.meshgrid(*[np.arange(VOCAB)] * 2), -1).reshape(-1, 2)
    tokens = np.repeat(np.pad(tokens, ((0, 0), (LENGTH - 2, 0))), VOCAB, 0)
    labels = np.full(tokens.shape, IGNORED)
    labels[:, -1] = np.tile(np.arange(VOCAB), VOCAB**2)
    law = rng.dirichlet(np.ones(VOCAB**2))[:, None] * rng.dirichlet(np.ones(VOCAB), VOCAB**2)
    return Batch(tokens, labels), law.ravel()


def sample(problem: Problem, seed: int, num: int = 200) -> Problem:
    """The problem on windows drawn from the population, as one batch."""
    batch, law = population()
    rows = np.random.default_rng([2, seed]).choice(len(law), num, p=law)
    return problem.on(Batch(*(x[rows] for x in batch)))


def population_trace(problem: Problem) -> float:
    """The exact trace of the population, each window with its probability."""
    batch, law = population()
    total = 0.0
    for i, share in enumerate(law):
        one = Batch(*(x[i : i + 1] for x in batch))
        total += share * float(np.trace(problem.on(one).dense()))
    return total
