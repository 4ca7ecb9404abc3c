"""The max-margin solver against cvxpy with Clarabel, and alone where Clarabel takes too long."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from el_jax.linear_ntp import NTPProblem, facet_problem, max_margin, random_problem
from experiments.bench.paired import Benchmark, Measurement

Result = TypeVar("Result")


class Case(NamedTuple):
    """The size of a problem, and the number of our solver's runs."""

    num_contexts: int
    dim: int
    vocab_size: int
    support_size: int = 4
    num_classes: int | None = None  # of tokens that share their contexts; None for random supports
    solutions: int = 1

    def __str__(self) -> str:
        kind = f"S={self.support_size}"
        if self.num_classes is not None:
            kind = f"{self.num_classes} classes of tokens"
        return f"V={self.vocab_size}, d={self.dim}, m={self.num_contexts}, {kind}"

    def problem(self) -> NTPProblem:
        """Make the problem."""
        if self.num_classes is not None:
            return facet_problem(self.num_contexts, self.dim, self.vocab_size, self.num_classes)
        return random_problem(self.num_contexts, self.dim, self.vocab_size, self.support_size)


def measure(beside: Sequence[Case], alone: Sequence[Case]) -> Iterator[Measurement]:
    """Seconds to a solution with a gap of 1e-10, and Clarabel's time as a multiple of ours.

    Clarabel is timed once: it takes minutes.

    Args:
        beside: problems that Clarabel solves too.
        alone: problems that are ours alone.
    """
    for case in beside:
        yield _beside_clarabel(case)
    for case in alone:
        problem = case.problem()
        seconds, solved = _timed(partial(max_margin, problem))
        values = {"ours, compilation included, s": seconds, "ours, duality gap": solved.gap}
        yield Measurement(str(case), values)


def _timed(function: Callable[[], Result]) -> tuple[float, Result]:
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def _beside_clarabel(case: Case) -> Measurement:
    try:
        import cvxpy  # noqa: F401  (off the clock)
    except ImportError:
        return Measurement(str(case), not_measured="cvxpy is not installed")
    problem = case.problem()
    solution = max_margin(problem)  # compiles
    ours = [_timed(partial(max_margin, problem))[0] for _ in range(case.solutions)]
    seconds, theirs = _timed(partial(clarabel_max_margin, problem))
    apart = float(np.linalg.norm(theirs - solution.w) / np.linalg.norm(solution.w))
    return Measurement(
        str(case),
        {
            "Clarabel / ours": seconds / float(np.median(ours)),
            "ours, s": ours,
            "ours, duality gap": solution.gap,
            "Clarabel's distance from ours, relative": apart,
        },
    )


def clarabel_max_margin(problem: NTPProblem) -> np.ndarray:
    """W_mm of one problem in the Frobenius norm, ``[V, d]``, to Clarabel's tolerances.

    Constrained entries are picked by index, since masks defeat Clarabel.
    """
    import cvxpy as cp

    w = cp.Variable((problem.vocab_size, problem.dim))
    logits = w @ problem.embeddings
    constraints = []
    for j, support in enumerate(problem.support.T):
        first, *others = np.flatnonzero(support)
        if others:
            constraints.append(logits[others, j] == logits[first, j])
        if not support.all():
            constraints.append(logits[np.flatnonzero(~support), j] <= logits[first, j] - 1)
    cp.Problem(cp.Minimize(cp.sum_squares(w) / 2), constraints).solve(solver=cp.CLARABEL)
    return np.asarray(w.value)


_LARGE = (Case(500, 256, 1000), Case(500, 256, 1000, num_classes=20))
_BESIDE = (Case(50, 60, 10, solutions=9), Case(100, 128, 60, solutions=9))
BENCHMARK = Benchmark(
    measure,
    {
        "smoke": ((Case(6, 8, 6, 2),), ()),
        "cpu": (_BESIDE, _LARGE),
        "gpu": ((), _LARGE),
    },
)
