"""Gradient descent, Adam and Signum in batches of one, eight and all examples."""

from collections.abc import Iterator, Mapping
from functools import partial

import jax.numpy as jnp
import numpy as np

from el_jax.linear_ntp import Adam, NTPProblem, random_problem, run_trajectory, smoothness_bound
from el_jax.linear_ntp.solvers.max_margin import max_margin
from el_jax.linear_ntp.theory.directions import DIRECTIONS, Direction, Steepest
from el_jax.linear_ntp.theory.norms import Norm
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.tables import Where

NORMS: tuple[Norm, ...] = ("frobenius", "max")
METHODS: dict[str, Direction] = {
    "gd": DIRECTIONS["gd"],
    "adam": Adam(),
    "signum": Steepest(jnp.sign, beta=0.99),
    "signum_long": Steepest(jnp.sign, beta=0.9995),  # its theorem requires a long memory
}
STEP_SIZE, DECAY = 0.1, 0.5  # for Adam and Signum; gradient descent has 1 / (2 L)
BATCHES = (1, 8, 0)  # pairs of a context and its next token per step; 0: all
SUPPORT_SIZES = (1, 3)
SHAPES = {  # m, d, V, steps, problems
    "smoke": (6, 8, 5, 200, 2),
    "cpu": (20, 24, 8, 50_000, 20),
}
NUM_SEEDS = {scale: shape[-1] for scale, shape in SHAPES.items()}


def setting(method: str, batch: int, support_size: int = 1) -> Where:
    """The factors of a run."""
    return {"optimizer": method, "batch": batch, "support_size": support_size}


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """Every method and batch on a problem of each support size."""
    num_contexts, dim, vocab_size, num_steps, _ = SHAPES[scale]
    for support_size in SUPPORT_SIZES:
        problem = random_problem(num_contexts, dim, vocab_size, support_size, seed=seed)
        w_mm = {str(norm): max_margin(problem, norm, tolerance=1e-3).w for norm in NORMS}
        for method in METHODS:
            for batch in BATCHES:
                factors = setting(method, batch, support_size)
                yield from _measure(factors, problem, num_steps, w_mm, seed)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)


def _measure(
    factors: Where,
    problem: NTPProblem,
    num_steps: int,
    w_mm: Mapping[str, np.ndarray],
    seed: int,
) -> list[Measured]:
    """The end of a run from zero, and the course of its margins; W = 0 has none."""
    step_size, decay = STEP_SIZE, DECAY
    if factors["optimizer"] == "gd":
        step_size, decay = 0.5 / smoothness_bound(problem), 0.0
    ran = run_trajectory(
        problem,
        METHODS[str(factors["optimizer"])],
        step_size,
        num_steps,
        decay=decay,
        batch=int(factors["batch"]),
        seed=seed,
        num_marks=13,
        w_mm=w_mm,
    )
    ratios = {norm: ran.metrics[f"margin_ratio_{norm}"] for norm in NORMS}
    lead = ratios["frobenius"] - ratios["max"]
    last = {f"margin_ratio_{norm}": float(ratio[-1]) for norm, ratio in ratios.items()}
    last["frobenius_lead"] = float(lead[-1])
    last["finite_error"] = float(ran.metrics["finite_error"][-1])
    return [Measured(factors, last, ran.steps[1:], {"frobenius_lead": lead[1:]})]
