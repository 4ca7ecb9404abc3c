"""Gradient descent, normalised gradient descent and Adam on the data of Appendix A.2."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from el_jax.linear_ntp import (
    NTPProblem,
    Trajectory,
    entropy_lower_bound,
    finite_component,
    log_spaced_marks,
    random_problem,
    run_trajectory,
)
from el_jax.linear_ntp.solvers.max_margin import max_margin
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.tables import Where

SHAPE = {"num_contexts": 50, "dim": 60, "vocab_size": 10, "support_size": 6}
STEP_SIZES = {"gd": 0.5, "ngd": 0.01, "adam": 0.01}
DECADES = {  # steps at which results are taken; the last ends the run
    "smoke": (10, 100),
    "cpu": (100, 1_000, 10_000, 100_000, 1_000_000),
}
NUM_PROBLEMS = {"smoke": 2, "cpu": 10}
DRAWN_OF_COUNTS = ("finite_error",)  # the only curve of counts in the figure
MARKS_PER_DECADE = 10
SAMPLES_PER_CONTEXT = 100  # n / m of the paper
RESULTS = {  # name in results.csv: name of the library
    "excess_loss": "excess_loss",
    "norm": "norm",
    "cosine": "cosine_frobenius",
    "cosine_minus_finite": "cosine_minus_finite_frobenius",
    "finite_error": "finite_error",
    "margin_ratio": "margin_ratio_frobenius",
}


def counted(problem: NTPProblem, seed: int) -> NTPProblem:
    """The same supports with the frequencies of a sample in which every token occurs.

    Each token of a context's support gets one of its samples; the rest are drawn.
    """
    rng = np.random.default_rng([seed, 3])
    counts = problem.support.astype(int)
    for context in range(problem.num_contexts):
        rest = SAMPLES_PER_CONTEXT - counts[:, context].sum()
        counts[:, context] += rng.multinomial(rest, problem.next_token_probs[:, context])
    probs = counts / SAMPLES_PER_CONTEXT
    return NTPProblem(problem.embeddings, problem.context_probs, probs)


def initial_decoder(problem: NTPProblem, seed: int) -> np.ndarray:
    """LeCun's normal initialisation, of standard deviation 1 / √d: ``[V, d]``."""
    rng = np.random.default_rng([seed, 2])
    return rng.standard_normal((problem.vocab_size, problem.dim)) / np.sqrt(problem.dim)


def of_problem(factors: Where, problem: NTPProblem, margin: float) -> list[Measured]:
    """Results that depend only on the problem, the same for every method."""
    probs = problem.next_token_probs
    numbers = {
        "entropy": entropy_lower_bound(problem),
        "least_probability": probs[probs > 0].min(),
        "margin": margin,
        "finite_norm": np.linalg.norm(finite_component(problem)),
    }
    return [Measured(factors, numbers)]


def along(factors: Where, trajectory: Trajectory, decades: tuple[int, ...]) -> Iterator[Measured]:
    """The curves of one run after its start, and results at every decade."""
    after = trajectory.steps > 0
    steps = trajectory.steps[after]
    curves = {metric: trajectory.metrics[source][after] for metric, source in RESULTS.items()}
    drawn = DRAWN_OF_COUNTS if factors["data"] == "counts" else RESULTS
    yield Measured(factors, {}, steps, {metric: curves[metric] for metric in drawn})
    for place in np.flatnonzero(np.isin(steps, decades)):
        numbers = {metric: values[place] for metric, values in curves.items()}
        yield Measured({**factors, "num_steps": steps[place]}, numbers)


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """Every method on both problems of a seed, from one start."""
    decades = DECADES[scale]
    # a whole number of marks per decade, so that every decade is itself a mark
    num_marks = MARKS_PER_DECADE * round(np.log10(decades[-1])) + 1
    marks = log_spaced_marks(decades[-1], num_marks).tolist()
    base = random_problem(**SHAPE, seed=seed)
    margin = max_margin(base)  # of the supports, which the two share
    w_mm = {"frobenius": margin.w}
    for data, problem in {"probabilities": base, "counts": counted(base, seed)}.items():
        yield from of_problem({"data": data}, problem, margin.margin)
        initial = initial_decoder(problem, seed)
        for method, size in STEP_SIZES.items():
            ran = run_trajectory(
                problem, method, size, decades[-1], marks=marks, initial=initial, w_mm=w_mm
            )
            yield from along({"data": data, "optimizer": method}, ran, decades)


run = partial(run_seeds, num_seeds=NUM_PROBLEMS, measure=measure)
