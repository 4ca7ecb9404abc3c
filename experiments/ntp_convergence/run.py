"""Gradient descent, normalised gradient descent and Adam on the data of Appendix A.2."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from el_jax.checkpoints.manifest import config_hash
from el_jax.linear_ntp import (
    NTPProblem,
    Trajectory,
    entropy_lower_bound,
    finite_component,
    log_spaced_marks,
    random_problem,
    run_trajectory,
)
from el_jax.linear_ntp.max_margin import max_margin
from experiments.results import CurveRow, ResultRow
from experiments.shards import WHOLE, Shard
from experiments.tables import write_tables

TITLE = "Do gradient descent, NGD and Adam share one bias? (Thrampoulidis 2024, Figures 4 and 5)"

SHAPE = {"num_contexts": 50, "dim": 60, "vocab_size": 10, "support_size": 6}
METHODS = {"GD": ("gd", 0.5), "NGD": ("ngd", 0.01), "Adam": ("adam", 0.01)}
DECADES = {  # steps at which results are taken; the last ends the run
    "smoke": (10, 100),
    "quick": (100, 1_000, 10_000),
    "cpu": (100, 1_000, 10_000, 100_000, 1_000_000),
    "paper": (100, 1_000, 10_000, 100_000, 1_000_000),
}
NUM_PROBLEMS = {"smoke": 2, "quick": 3, "cpu": 5, "paper": 10}
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
    """The same supports with the frequencies of a sample, in which every token occurs.

    Each token of a context's support gets one of its samples; the others are drawn.
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


def rows_of(
    name: str, seed: int, trajectory: Trajectory, decades: tuple[int, ...]
) -> tuple[list[ResultRow], list[CurveRow]]:
    """Results at every decade, and the curves between them."""
    curves = [
        CurveRow(name, seed, int(step), metric, float(value))
        for metric, source in RESULTS.items()
        for step, value in zip(trajectory.steps, trajectory.metrics[source], strict=True)
        if step > 0
    ]
    results = [
        ResultRow(f"{name}, step {row.step}", seed, row.metric, row.value)
        for row in curves
        if row.step in decades
    ]
    return results, curves


def of_problem(name: str, problem: NTPProblem, seed: int, margin: float) -> Iterator[ResultRow]:
    """Results of the problem alone, the same for every method."""
    probs = problem.next_token_probs
    yield ResultRow(name, seed, "entropy", entropy_lower_bound(problem))
    yield ResultRow(name, seed, "least_probability", float(probs[probs > 0].min()))
    yield ResultRow(name, seed, "margin", margin)
    yield ResultRow(name, seed, "finite_norm", float(np.linalg.norm(finite_component(problem))))


def run(scale: str, out: Path, shard: Shard = WHOLE) -> None:
    """Train with every method on every problem from one start; write the tables."""
    decades = DECADES[scale]
    # a whole number of marks a decade, so that every decade is itself one
    num_marks = MARKS_PER_DECADE * round(np.log10(decades[-1])) + 1
    marks = log_spaced_marks(decades[-1], num_marks).tolist()
    results: list[ResultRow] = []
    curves: list[CurveRow] = []
    seconds: dict[str, float] = {}
    for seed in shard.take(range(NUM_PROBLEMS[scale])):
        base = random_problem(**SHAPE, seed=seed)
        margin = max_margin(base)  # of the supports, which the two share
        for data, problem in {"": base, " on counts": counted(base, seed)}.items():
            results += of_problem(f"problem{data}", problem, seed, margin.margin)
            for method, (direction, step_size) in METHODS.items():
                name, started = method + data, time.monotonic()
                trajectory = run_trajectory(
                    problem, direction, step_size, decades[-1], marks=marks,
                    initial=initial_decoder(problem, seed), w_mm={"frobenius": margin.w},
                )  # fmt: skip
                found = rows_of(name, seed, trajectory, decades)
                results += found[0]
                curves += found[1]
                seconds[name] = seconds.get(name, 0.0) + time.monotonic() - started
    config: dict[str, object] = {"initial": "LeCun normal", **SHAPE}
    config |= {"num_steps": decades[-1], "problems": NUM_PROBLEMS[scale]}
    hashes = {name: config_hash(config | {"run": name, "methods": METHODS}) for name in seconds}
    write_tables(
        "ntp_convergence", scale, out, results=results, curves=curves, config_hashes=hashes,
        wall_seconds=seconds,
    )  # fmt: skip
