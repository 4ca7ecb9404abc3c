"""Optimizers on the same problems, measured against the max-margin matrices of three norms."""

import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from el_jax.linear_ntp import NTPProblem, random_problem, run_trajectory, smoothness_bound
from el_jax.linear_ntp.solvers.max_margin import max_margin
from el_jax.linear_ntp.theory.norms import NORMS, Norm
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.tables import Where

OWN_NORM: dict[str, Norm] = {  # the norm in which a method's steps are steepest descent
    "gd": "frobenius",
    "ngd": "frobenius",
    "sign": "max",
    "adam": "max",
    "spectral": "spectral",
    "muon": "spectral",
}
STEP_SIZES = {"ngd": 0.1, "sign": 0.1, "adam": 0.1, "spectral": 0.05, "muon": 0.05}
DECAY = 0.5  # for all but gradient descent, whose step is constant, 1 / (2 L)
SUPPORT_SIZES = (1, 3)
SHAPES = {  # m, d, V, steps, problems
    "smoke": (6, 8, 5, 200, 2),
    "cpu": (20, 24, 8, 20_000, 20),
}
NUM_SEEDS = {scale: shape[-1] for scale, shape in SHAPES.items()}
GAP = 1e-3  # gap to which the three max margins are solved


def setting(method: str, support_size: int) -> Where:
    """The factors of a run."""
    return {"optimizer": method, "support_size": support_size}


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """Every method on a problem of each support size."""
    num_contexts, dim, vocab_size, num_steps, _ = SHAPES[scale]
    for support_size in SUPPORT_SIZES:
        problem = random_problem(num_contexts, dim, vocab_size, support_size, seed=seed)
        w_mm = {str(norm): max_margin(problem, norm, tolerance=GAP).w for norm in NORMS}
        for method in OWN_NORM:
            factors = setting(method, support_size)
            yield from _measure(factors, problem, num_steps, w_mm)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)


def _measure(
    factors: Where, problem: NTPProblem, num_steps: int, w_mm: Mapping[str, np.ndarray]
) -> list[Measured]:
    """The end of a run from zero, and its course; W = 0, the first mark, has no margin."""
    method = factors["optimizer"]
    step_size, decay = 0.5 / smoothness_bound(problem), 0.0
    if method in STEP_SIZES:
        step_size, decay = STEP_SIZES[method], DECAY
    ran = run_trajectory(
        problem, method, step_size, num_steps, decay=decay, num_marks=13, w_mm=w_mm
    )
    own = ran.metrics[f"margin_ratio_{OWN_NORM[method]}"]
    curves = {"excess_loss": ran.metrics["excess_loss"][1:], "margin_ratio_own": own[1:]}
    return [Measured(factors, dict(_final(method, ran.metrics)), ran.steps[1:], curves)]


def _final(method: str, metrics: Mapping[str, np.ndarray]) -> Iterator[tuple[str, float]]:
    """The last mark's numbers that results.csv keeps."""
    last = {name: float(values[-1]) for name, values in metrics.items()}
    for kind in ("margin_ratio", "cosine_across"):
        for norm in NORMS:
            yield f"{kind}_{norm}", last[f"{kind}_{norm}"]
        yield f"{kind}_own_lead", _lead(last, kind, OWN_NORM[method])
    yield "log10_excess_loss", math.log10(last["excess_loss"])
    yield "finite_error", last["finite_error"]


def _lead(last: Mapping[str, float], kind: str, own: Norm) -> float:
    """The excess of the value in one norm over the larger of the values in the other two."""
    return last[f"{kind}_{own}"] - max(last[f"{kind}_{norm}"] for norm in NORMS if norm != own)
