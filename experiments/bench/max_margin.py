"""The max-margin solver against cvxpy with Clarabel, and alone where Clarabel takes too long."""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from el_jax.linear_ntp import MaxMargin, NTPProblem, facet_problem, max_margin, random_problem
from experiments.bench.measurement import Measurement


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


class Plan(NamedTuple):
    """Problems that Clarabel solves too, and problems that are ours alone."""

    beside: tuple[Case, ...]
    alone: tuple[Case, ...]


_LARGE = (Case(500, 256, 1000), Case(500, 256, 1000, num_classes=20))
PLANS = {
    "smoke": Plan((Case(6, 8, 6, 2),), ()),
    "cpu": Plan((Case(50, 60, 10, solutions=9), Case(100, 128, 60, solutions=9)), _LARGE),
    "gpu": Plan((), _LARGE),
}


def measure(plan: Plan) -> Iterator[Measurement]:
    """Seconds to a solution with a gap of 1e-10, and Clarabel's time as a multiple of ours.

    Clarabel is timed once: it takes minutes.
    """
    for case in plan.beside:
        yield _beside_clarabel(case)
    for case in plan.alone:
        yield _alone(case)


def _seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _beside_clarabel(case: Case) -> Measurement:
    try:
        from experiments.bench.clarabel import clarabel_max_margin
    except ImportError:
        return Measurement(str(case), not_measured="cvxpy is not installed")
    problem = case.problem()
    solution = max_margin(problem)  # compiles
    ours = [_seconds(lambda: max_margin(problem)) for _ in range(case.solutions)]
    theirs: list[np.ndarray] = []
    seconds = _seconds(lambda: theirs.append(clarabel_max_margin(problem)))
    apart = float(np.linalg.norm(theirs[0] - solution.w) / np.linalg.norm(solution.w))
    return Measurement(
        str(case),
        {
            "Clarabel / ours": seconds / float(np.median(ours)),
            "ours, s": ours,
            "ours, duality gap": solution.gap,
            "Clarabel's distance from ours, relative": apart,
        },
    )


def _alone(case: Case) -> Measurement:
    problem = case.problem()
    solved: list[MaxMargin] = []
    seconds = _seconds(lambda: solved.append(max_margin(problem)))
    values = {"ours, compilation included, s": seconds, "ours, duality gap": solved[0].gap}
    return Measurement(str(case), values)
