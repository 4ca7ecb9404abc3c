"""Sign descent, spectral descent and Adam whose steps outlast the gradient, or shrink with it."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from el_jax.linear_ntp import (
    Adam,
    NTPProblem,
    data_subspace,
    gradient,
    random_problem,
    run_trajectory,
    smoothness_bound,
)
from el_jax.linear_ntp.solvers.max_margin import max_margin
from el_jax.linear_ntp.theory.directions import DIRECTIONS, Direction, Memoryless
from el_jax.linear_ntp.theory.landscape import Slope
from el_jax.linear_ntp.theory.norms import NORMS, Norm
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.tables import Where


def split_sign(slope: Slope, step_size: Array) -> Array:
    """A gradient step for the part in F, and the sign of the gradient across it."""
    curved = slope.top_curvature > 0
    along = slope.along / jnp.where(curved, slope.top_curvature, 1.0)
    return jnp.where(curved, along, 0.0) + step_size * jnp.sign(slope.across)


class Method(NamedTuple):
    """An optimizer with its steps η (k + 1)^-a.

    Attributes:
        own: the norm in which its steps are steepest descent.
        direction: the direction that it subtracts.
        step_size: η, or η · L in that norm if ``scaled``.
        decay: a.
        scaled: True if its steps are proportional to the gradient.
    """

    own: Norm
    direction: Direction
    step_size: float = 0.1
    decay: float = 0.5
    scaled: bool = False


STABLE = 2.0  # the largest η · L at which no step can raise the loss
METHODS = {
    "sign": Method("max", DIRECTIONS["sign"]),
    "sign_scaled": Method("max", DIRECTIONS["sign_scaled"], STABLE, 0.0, scaled=True),
    "split_sign": Method("max", Memoryless(split_sign)),
    "adam": Method("max", Adam()),
    "adam_fast": Method("max", Adam(), decay=0.9),
    "adam_epsilon": Method("max", Adam(epsilon=1e-4)),
    "spectral": Method("spectral", DIRECTIONS["spectral"], 0.05),
    "spectral_scaled": Method("spectral", DIRECTIONS["spectral_scaled"], STABLE, 0.0, scaled=True),
}
BY_SUPPORT = ("sign", "sign_scaled")  # run at every support size, the others at the middle one
SUPPORT_SIZES = (2, 3, 6)
MIDDLE = 3
FIRST = 200  # seed of the first problem; the pilot had 100 and 101
SHAPES = {  # m, d, V, steps, problems
    "smoke": (6, 8, 7, 200, 2),
    "cpu": (20, 24, 8, 1_000_000, 12),
}
NUM_SEEDS = {scale: shape[-1] for scale, shape in SHAPES.items()}


def setting(method: str, support_size: int = MIDDLE) -> Where:
    """The factors of a run."""
    return {"optimizer": method, "support_size": support_size}


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """Every method on a problem of each of its support sizes."""
    num_contexts, dim, vocab_size, num_steps, _ = SHAPES[scale]
    for size in SUPPORT_SIZES:
        problem = random_problem(num_contexts, dim, vocab_size, size, seed=FIRST + seed)
        w_mm = {str(norm): max_margin(problem, norm, tolerance=1e-3).w for norm in NORMS}
        for method in METHODS if size == MIDDLE else BY_SUPPORT:
            factors = setting(method, size)
            yield from _measure(factors, problem, num_steps, w_mm)


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)


def _measure(
    factors: Where, problem: NTPProblem, num_steps: int, w_mm: Mapping[str, np.ndarray]
) -> list[Measured]:
    """The end of a run from zero and its course; W = 0, the first mark, has no margin."""
    method = METHODS[str(factors["optimizer"])]
    step_size = method.step_size
    if method.scaled:
        step_size /= smoothness_bound(problem) * _longest(method.own, problem)
    ran = run_trajectory(
        problem,
        method.direction,
        step_size,
        num_steps,
        decay=method.decay,
        num_marks=19,
        w_mm=w_mm,
    )
    ratios = {norm: ran.metrics[f"margin_ratio_{norm}"][1:] for norm in NORMS}
    lead = ratios[method.own] - np.max([r for n, r in ratios.items() if n != method.own], axis=0)
    last = {f"margin_ratio_{norm}": float(ratio[-1]) for norm, ratio in ratios.items()}
    last["own_lead"] = float(lead[-1])
    last["log10_excess_loss"] = float(np.log10(ran.metrics["excess_loss"][-1]))
    slope = gradient(problem, ran.final)
    along = data_subspace(problem).project(slope)
    parts = np.linalg.norm(along), np.linalg.norm(slope - along)
    last["log10_along_over_across"] = float(np.log10(parts[0] / parts[1]))
    courses = {"own_lead": lead, "excess_loss": ran.metrics["excess_loss"][1:]}
    return [Measured(factors, last, ran.steps[1:], courses)]


def _longest(norm: Norm, problem: NTPProblem) -> int:
    """The largest squared Frobenius norm of a step of length 1 in a norm."""
    shape = problem.vocab_size, problem.dim
    return shape[0] * shape[1] if norm == "max" else min(shape)
