"""Optimizers with and without decoupled weight decay, with steps ~ 1 / t and ~ 1 / √t."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from el_jax.linear_ntp import (
    MaxMargin,
    NTPProblem,
    frank_wolfe_gap,
    random_problem,
    run_trajectory,
)
from el_jax.linear_ntp.solvers.max_margin import max_margin
from el_jax.linear_ntp.theory.norms import NORMS, Norm, matrix_norm
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.tables import Where
from experiments.ntp_optimizers.run import DECAY, OWN_NORM, STEP_SIZES

METHODS = ("ngd", "sign", "adam", "spectral", "muon")
# balls' radii over the norm of the max-margin matrix of margin 1: in the small ball the best loss
# is well above the entropy, in the large one margins distinguish norms
SMALL, LARGE = 3, 8
ARMS = (("1/√t", 0), ("1/√t", LARGE), ("1/t", 0), ("1/t", SMALL), ("1/t", LARGE))  # 0: no decay
SUPPORT_SIZE = 3
FIRST = 500  # seed of the first problem; seeds 100 and 300 to 409 were seen before
SHAPES = {  # m, d, V, steps, problems
    "smoke": (6, 8, 5, 200, 2),
    "cpu": (20, 24, 8, 200_000, 10),
}
NUM_SEEDS = {scale: shape[-1] for scale, shape in SHAPES.items()}


def setting(method: str, steps: str, ball: int) -> Where:
    """The factors of a run."""
    return {"optimizer": method, "steps": steps, "ball": ball}


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """Every method in every arm on one problem."""
    num_contexts, dim, vocab_size, num_steps, _ = SHAPES[scale]
    problem = random_problem(num_contexts, dim, vocab_size, SUPPORT_SIZE, seed=FIRST + seed)
    margins = {norm: max_margin(problem, norm, tolerance=1e-3) for norm in NORMS}
    for method in METHODS:
        for arm in ARMS:
            factors = setting(method, *arm)
            yield from _measure(factors, problem, num_steps, margins)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)


def _measure(
    factors: Where, problem: NTPProblem, num_steps: int, margins: dict[Norm, MaxMargin]
) -> list[Measured]:
    """The end of a run from zero, and the course of its margins.

    Steps are 2 B / t, as usual in Frank and Wolfe's method in a ball of radius B (the large one if
    there is no decay), or those of ntp_optimizers. λ is 1 / B.
    """
    method, own = str(factors["optimizer"]), OWN_NORM[str(factors["optimizer"])]
    ball = int(factors["ball"])
    radius = float((ball or LARGE) / margins[own].margin)
    short = factors["steps"] == "1/t"
    step_size, decay = (2 * radius, 1.0) if short else (STEP_SIZES[method], DECAY)
    ran = run_trajectory(
        problem,
        method,
        step_size,
        num_steps,
        decay=decay,
        weight_decay=1 / radius if ball else 0.0,
        num_marks=15,
        w_mm={str(norm): found.w for norm, found in margins.items()},
    )
    ratios = {norm: ran.metrics[f"margin_ratio_{norm}"][1:] for norm in NORMS}
    lead = ratios[own] - np.max([r for norm, r in ratios.items() if norm != own], axis=0)
    last = {f"margin_ratio_{norm}": float(ratio[-1]) for norm, ratio in ratios.items()}
    last["own_lead"] = float(lead[-1])
    last["log10_excess_loss"] = float(np.log10(ran.metrics["excess_loss"][-1]))
    if ball:
        size = float(matrix_norm(ran.final, own))
        last["size_over_radius"] = size / radius
        last["gap"] = frank_wolfe_gap(problem, ran.final, own, max(radius, size))
    courses = {"own_lead": lead, "excess_loss": ran.metrics["excess_loss"][1:]}
    return [Measured(factors, last, ran.steps[1:], courses)]
