"""The report of a tool, one line per verdict."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from el_jax.curvature.conformance.laws import (
    COVERED,
    Product,
    Trace,
    Verdict,
    coverage,
    judge,
    population_trace,
    top_error,
)
from el_jax.curvature.conformance.problems import PRECISE, PROBLEMS, Problem

TITLES = {"hessian": "Hessian", "gauss_newton": "Gauss-Newton"}
NUM_SEEDS = 1_000
TOP_ALLOWED = 1e-4
(SPECTRUM,) = (p for p in PROBLEMS if p.name == "hessian, tied block, one batch, float64")


def report(
    product: Product,
    *,
    top: Callable[[Problem, int], Sequence[float]] | None = None,
    trace: Trace | None = None,
    say: Callable[[str], Any] = print,
    problems: Iterable[Problem] = PROBLEMS,
    num_seeds: int = NUM_SEEDS,
) -> dict[str, tuple[bool, str]]:
    """Judge a tool; return whether it passes and its error, for each line of the report.

    Features that the tool does not have get no line.

    Args:
        product: a product with a matrix, see the package's docstring.
        top: eigenvalues, if the tool has them.
        trace: a trace with its error, likewise.
        say: called with a line on every failed problem.
        problems: the problems; a subset for a first look.
        num_seeds: number of seeds for traces.
    """
    verdicts = defaultdict(list)
    for problem in problems:
        verdict = judge(product, problem)
        if verdict is None:
            continue
        if verdict.broken:
            say(f"{problem.name}: {verdict.broken}")
        kind = problem.data if problem.dtype == PRECISE else problem.dtype
        verdicts[f"{TITLES[problem.matrix]}, {kind}"].append(verdict)
    lines = {name: _summary(of_line) for name, of_line in verdicts.items()}
    further = {
        "Largest eigenvalues": _largest(top) if top else (),
        "Trace": _coverages(trace, num_seeds) if trace else (),
    }
    for what, judged in further.items():
        try:
            lines |= dict(judged)
        except Exception as error:  # a tool may raise anything
            lines[what] = False, f"raises {type(error).__name__}: {error}"
    return lines


def _largest(
    top: Callable[[Problem, int], Sequence[float]],
) -> Iterator[tuple[str, tuple[bool, str]]]:
    error = top_error(top, SPECTRUM)
    yield "Largest eigenvalues", (error <= TOP_ALLOWED, f"error {error:.2g}")


def _summary(verdicts: Sequence[Verdict]) -> tuple[bool, str]:
    broken = [v for v in verdicts if v.broken]
    counts = f"{len(verdicts) - len(broken)} of {len(verdicts)}"
    if not broken:
        return True, counts
    names = ", ".join(v.problem.network for v in broken) if len(broken) < len(verdicts) else "all"
    errors = [v.error for v in broken]
    error = "raises" if np.isnan(errors).all() else f"error {np.nanmax(errors):.2g}"
    return False, f"{counts} ({names}: {error})"


def _coverages(trace: Trace, num: int) -> Iterator[tuple[str, tuple[bool, str]]]:
    errors = len(trace(SPECTRUM, 0)) - 1
    truths = (lambda: float(np.trace(SPECTRUM.dense())), lambda: population_trace(SPECTRUM))
    for which, (truth, of) in enumerate(zip(truths, ("probes", "examples"), strict=True), start=1):
        name = f"Trace, stated error of {of}"
        if which > errors:
            yield name, (False, "not stated")
            continue
        share = coverage(trace, SPECTRUM, truth(), num, which)
        yield name, (COVERED[0] <= share <= COVERED[1], f"{share:.3f} of 95 % intervals hold")
