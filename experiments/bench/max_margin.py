"""The max-margin solver against cvxpy with Clarabel, and alone where Clarabel takes too long."""

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from el_jax.linear_ntp import NTPProblem, facet_problem, max_margin, random_problem
from experiments.bench.paired import Benchmark, Case, NotMeasuredError, Values

CLARABEL_UP_TO = 100  # tokens
Result = TypeVar("Result")


def measure(case: Case, solutions: int) -> Values:
    """Seconds to a solution with a gap of 1e-10, and Clarabel's time as a multiple of ours.

    Clarabel is timed once: it takes minutes.

    Raises:
        NotMeasuredError: cvxpy is not installed.
    """
    # tokens of one class share their contexts; without classes supports are random
    problem = (facet_problem if "num_classes" in case else random_problem)(**case)
    if case["vocab_size"] > CLARABEL_UP_TO:
        seconds, solved = _timed(partial(max_margin, problem))
        return {"ours, compilation included, s": seconds, "ours, duality gap": solved.gap}
    try:
        import cvxpy  # noqa: F401  (off the clock)
    except ImportError as error:
        raise NotMeasuredError("cvxpy is not installed") from error
    solution = max_margin(problem)  # compiles
    ours = [_timed(partial(max_margin, problem))[0] for _ in range(solutions)]
    seconds, theirs = _timed(partial(clarabel_max_margin, problem))
    apart = float(np.linalg.norm(theirs - solution.w) / np.linalg.norm(solution.w))
    return {
        "Clarabel / ours": seconds / float(np.median(ours)),
        "ours, s": ours,
        "ours, duality gap": solution.gap,
        "Clarabel's distance from ours, relative": apart,
    }


def _timed(function: Callable[[], Result]) -> tuple[float, Result]:
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


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


def _size(V: int, d: int, m: int, **kind: int) -> dict[str, int]:
    return {"vocab_size": V, "dim": d, "num_contexts": m, **kind}


_LARGE = {
    "V=1000, d=256, m=500, S=4": _size(1000, 256, 500, support_size=4),
    "V=1000, d=256, m=500, 20 classes of tokens": _size(1000, 256, 500, num_classes=20),
}
_BESIDE = {
    "V=10, d=60, m=50, S=4": _size(10, 60, 50, support_size=4),
    "V=60, d=128, m=100, S=4": _size(60, 128, 100, support_size=4),
}
_TINY = {"tiny": _size(6, 8, 6, support_size=2), "classes": _size(6, 8, 6, num_classes=2)}
BENCHMARK = Benchmark(
    measure,
    {
        "smoke": (_TINY, 1),
        "cpu": ({**_BESIDE, **_LARGE}, 9),
        "gpu": (_LARGE, 1),
    },
)
