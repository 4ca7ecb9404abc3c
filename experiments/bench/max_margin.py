"""The max-margin solver against cvxpy with Clarabel, and alone where Clarabel takes too long."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from el_jax.linear_ntp import MaxMargin, NTPProblem, facet_problem, max_margin, random_problem
from experiments.bench.rows import Goal, Row, at_least, at_most, exact, not_measured
from experiments.bench.scales import Scale

NAME = "max_margin"
FASTER, ALONE = at_least(50.0), at_most(60.0)


class _Case(NamedTuple):
    """The size of a problem, the number of our solver's runs, and the goal against Clarabel."""

    num_contexts: int
    dim: int
    vocab_size: int
    support_size: int = 4
    num_classes: int | None = None  # of tokens that share their contexts; None for random supports
    solutions: int = 1
    goal: Goal | None = None

    def __str__(self) -> str:
        kind = f"S={self.support_size}"
        if self.num_classes is not None:
            kind = f"{self.num_classes} classes of tokens"
        return f"V={self.vocab_size}, d={self.dim}, m={self.num_contexts}, {kind}"

    def problem(self) -> NTPProblem:
        if self.num_classes is not None:
            return facet_problem(self.num_contexts, self.dim, self.vocab_size, self.num_classes)
        return random_problem(self.num_contexts, self.dim, self.vocab_size, self.support_size)


class _Plan(NamedTuple):
    beside: tuple[_Case, ...]
    alone: tuple[_Case, ...]


_LARGE = (_Case(500, 256, 1000), _Case(500, 256, 1000, num_classes=20))
_PLANS: dict[Scale, _Plan] = {
    "smoke": _Plan((_Case(6, 8, 6, 2),), ()),
    "cpu": _Plan(
        (_Case(50, 60, 10, solutions=9), _Case(100, 128, 60, solutions=9, goal=FASTER)), _LARGE
    ),
    "gpu": _Plan((), _LARGE),
}


def measure(scale: Scale) -> list[Row]:
    """Seconds to a solution with a gap of 1e-10, and Clarabel's time as a multiple of ours.

    Clarabel is timed once: it takes minutes.
    """
    plan = _PLANS[scale]
    beside = [row for case in plan.beside for row in _beside_clarabel(case)]
    return beside + [row for case in plan.alone for row in _alone(case)]


def _seconds(function: Callable[[], object], times: int = 1) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def _beside_clarabel(case: _Case) -> list[Row]:
    try:
        from experiments.bench.clarabel import clarabel_max_margin
    except ImportError:
        return [
            not_measured(NAME, str(case), "Clarabel / ours", "cvxpy is not installed", case.goal)
        ]
    problem = case.problem()
    solution = max_margin(problem)  # compiles
    ours = _seconds(lambda: max_margin(problem), case.solutions)
    theirs: list[np.ndarray] = []
    seconds = _seconds(lambda: theirs.append(clarabel_max_margin(problem)))
    apart = float(np.linalg.norm(theirs[0] - solution.w) / np.linalg.norm(solution.w))
    return [
        exact(NAME, str(case), "Clarabel / ours", seconds / ours, case.goal),
        exact(NAME, str(case), "ours, s", ours),
        exact(NAME, str(case), "ours, duality gap", solution.gap),
        exact(NAME, str(case), "Clarabel's distance from ours, relative", apart),
    ]


def _alone(case: _Case) -> list[Row]:
    problem = case.problem()
    solved: list[MaxMargin] = []
    seconds = _seconds(lambda: solved.append(max_margin(problem)))
    return [
        exact(NAME, str(case), "ours, compilation included, s", seconds, ALONE),
        exact(NAME, str(case), "ours, duality gap", solved[0].gap),
    ]
