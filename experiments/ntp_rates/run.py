"""Gradient descent and flow against their predicted limits; normalised descent, and its floor."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from el_jax.linear_ntp import (
    NTPProblem,
    Trajectory,
    fit_rate,
    gradient_flow,
    log_spaced_marks,
    one_hot_problem,
    random_problem,
    residual,
    run_trajectory,
    smoothness_bound,
    top_curvature,
)
from el_jax.linear_ntp.solvers.max_margin import MaxMargin, max_margin
from experiments.harness.seeds import Measured, run_seeds
from experiments.harness.tables import Where

SHAPE = {"num_contexts": 20, "dim": 24, "vocab_size": 8, "support_size": 3}
ONE_HOT = {name: size for name, size in SHAPE.items() if name != "support_size"}
NUM_SEEDS = {"smoke": 2, "cpu": 10}
NUM_STEPS = {"smoke": 2_000, "cpu": 320_000}
FAST_STEPS = {"smoke": 1_000, "cpu": 10_000}
FLOW_SEEDS = {"smoke": 1, "cpu": 5}
FLOW_END = {"smoke": 1e4, "cpu": 1e12}
GD, FLOW = ({"optimizer": name, "support_size": 3} for name in ("gd", "flow"))
STALLING: list[Where] = [
    {"optimizer": "ngd", "step_size": eta, "support_size": 3} for eta in (0.05, 0.2)
]
ONE_HOT_NGD = {"optimizer": "ngd", "step_size": 0.05, "support_size": 1}
SPLIT = {"optimizer": "split_ngd", "step_size": 0.05, "support_size": 3}
SETTINGS: list[Where] = [GD, FLOW, *STALLING, ONE_HOT_NGD, SPLIT]
# at t = 1e12 the part in F is 1e-10 off W*; looser tolerances drown it in the integrator's error
FLOW_RTOL, FLOW_ATOL = 1e-10, 1e-14
MARKS_PER_DECADE = 10
# how far before the end a fit begins: a power law, and growth in log k
POWER_DECADES, LOG_DECADES = 1.5, 3.0

Numbers = dict[str, float]
Curves = dict[str, np.ndarray]


def line(name: str, x: np.ndarray, y: np.ndarray, decades: float, predicted: float) -> Numbers:
    """The final slope of y over log x, its error, and its spread over parts of the window."""
    end = np.log(x[-1])
    fit = fit_rate(np.log(x), y, window=(end - decades * np.log(10), end))
    spread = float(np.ptp(fit.sensitivity))
    return {name: fit.slope, f"{name}_error": abs(fit.slope - predicted), f"{name}_spread": spread}


def over_decade(x: np.ndarray, y: np.ndarray) -> float:
    """The value at the end divided by the value ten times earlier."""
    return float(y[-1] / y[np.abs(np.log(10 * x / x[-1])).argmin()])


def asymptotics(
    steps: np.ndarray, metrics: Curves, margin: MaxMargin, step_size: float
) -> tuple[Numbers, Curves]:
    """Gradient descent or flow relative to its predicted limits; ‖W_mm‖ = 1/γ."""
    gap = 1 - metrics["margin_ratio_frobenius"]
    log = np.log(steps)
    leaked = np.exp(metrics["log_leaked_mass"])
    curves = {
        "loss_constant": step_size * steps * metrics["excess_loss"] * margin.margin**2,
        "finite_error": metrics["finite_error"],
        "growth": metrics["norm_across"] * margin.margin,
        "direction_product": (1 - metrics["cosine_frobenius"]) * log**2,
        "margin_product": gap * log,
        "certificate_gap": metrics["gradient_norm"] / (margin.margin * leaked) - 1,
        "margin_gap": gap,
    }
    numbers = {
        name: curves[name][-1]
        for name in ("loss_constant", "direction_product", "margin_product", "certificate_gap")
    }
    numbers |= {
        "loss_constant_error": abs(numbers["loss_constant"] - 1),
        "direction_product_over_decade": over_decade(steps, curves["direction_product"]),
        "margin_product_over_decade": over_decade(steps, curves["margin_product"]),
        "margin_ratio": metrics["margin_ratio_frobenius"][-1],
    }
    for name, y, decades, predicted in (
        ("loss_slope", np.log(metrics["excess_loss"]), POWER_DECADES, -1.0),
        ("finite_slope", np.log(metrics["finite_error"]), POWER_DECADES, -1.0),
        ("growth_slope", curves["growth"], LOG_DECADES, 1.0),
    ):
        numbers |= line(name, steps, y, decades, predicted)
    return numbers, curves


def stalled(metrics: Curves, step_size: float, curvature: float) -> tuple[Numbers, Curves]:
    """Normalised descent relative to the floor predicted from λ_F."""
    curves = {
        "gradient_ratio": metrics["gradient_norm"] / (step_size * curvature / 2),
        "finite_ratio": metrics["finite_error"] / (step_size / 2),
        "loss_ratio": metrics["excess_loss"] / (curvature * step_size**2 / 8),
        "rate_ratio": metrics["effective_step_size"] / (2 / curvature),
        "margin_gap": 1 - metrics["margin_ratio_frobenius"],
    }
    numbers = {name: curve[-1] for name, curve in curves.items()}
    for name in ("gradient_ratio", "finite_ratio", "loss_ratio"):
        numbers[f"{name}_error"] = abs(numbers[name] - 1)
    return numbers, curves


def margin_decay(steps: np.ndarray, metrics: Curves) -> tuple[Numbers, Curves]:
    """The rate at which the margin approaches the largest one: its slope, constant and gap."""
    gap = 1 - metrics["margin_ratio_frobenius"]
    numbers = line("margin_slope", steps, np.log(gap), 1.0, -1.0) | {
        "margin_constant": gap[-1] * steps[-1],
        "margin_gap": gap[-1],
        "log_leaked_mass": metrics["log_leaked_mass"][-1],
        "finite_error": metrics["finite_error"][-1],
    }
    return numbers, {"margin_gap": gap}


def measured(trajectory: Trajectory, run: int | None = None) -> tuple[np.ndarray, Curves]:
    """Steps after 0, and the metrics there of one run."""
    kept = trajectory.steps > 0
    values = {n: v if run is None else v[run] for n, v in trajectory.metrics.items()}
    return trajectory.steps[kept], {name: v[kept] for name, v in values.items()}


def descend(
    problem: NTPProblem, margin: MaxMargin, method: str, step_size: float | np.ndarray, end: int
) -> Trajectory:
    """Steps from zero, at log-spaced marks, about the same number in every decade."""
    marks = log_spaced_marks(end, round(MARKS_PER_DECADE * np.log10(end)) + 1).tolist()
    w_mm = {"frobenius": margin.w}
    return run_trajectory(problem, method, step_size, end, marks=marks, w_mm=w_mm)


def descent(problem: NTPProblem, margin: MaxMargin, num_steps: int) -> Iterator[Measured]:
    """Gradient descent at η = 1/L, and its residuals against the dual solution."""
    step_size = 1 / smoothness_bound(problem)
    trajectory = descend(problem, margin, "gd", step_size, num_steps)
    steps, metrics = measured(trajectory)
    numbers, curves = asymptotics(steps, metrics, margin, step_size)
    dual = step_size * num_steps * residual(problem, trajectory.final)
    numbers["dual_error"] = float(np.linalg.norm(dual - margin.dual) / np.linalg.norm(margin.dual))
    yield Measured(GD, numbers, steps, curves)


def flow(problem: NTPProblem, margin: MaxMargin, end: float) -> Iterator[Measured]:
    """Gradient flow, t in place of η k."""
    times = np.rint(np.geomspace(10, end, round(5 * np.log10(end / 10)) + 1))
    w_mm = {"frobenius": margin.w}
    trajectory = gradient_flow(problem, times, w_mm=w_mm, rtol=FLOW_RTOL, atol=FLOW_ATOL)
    steps, metrics = measured(trajectory)
    numbers, curves = asymptotics(steps, metrics, margin, 1.0)
    yield Measured(FLOW, numbers, steps, curves)


def stalling(problem: NTPProblem, margin: MaxMargin, num_steps: int) -> Iterator[Measured]:
    """Normalised descent with each of the constant step sizes."""
    sizes = [factors["step_size"] for factors in STALLING]
    trajectory = descend(problem, margin, "ngd", np.array(sizes), num_steps)
    curvature = top_curvature(problem)
    for run, (factors, step_size) in enumerate(zip(STALLING, sizes, strict=True)):
        steps, metrics = measured(trajectory, run)
        numbers, curves = stalled(metrics, step_size, curvature)
        yield Measured(factors, numbers, steps, curves)


def fast(factors: Where, problem: NTPProblem, num_steps: int) -> Iterator[Measured]:
    """A method whose margin should approach the largest as 1/k."""
    margin, step_size = max_margin(problem), factors["step_size"]
    steps, metrics = measured(descend(problem, margin, factors["optimizer"], step_size, num_steps))
    numbers, curves = margin_decay(steps, metrics)
    yield Measured(factors, numbers, steps, curves)


def measure(scale: str, seed: int) -> Iterator[Measured]:
    """The computations of one seed."""
    problem = random_problem(**SHAPE, seed=seed)
    one_hot = one_hot_problem(**ONE_HOT, seed=seed)
    margin, slow, quick = max_margin(problem), NUM_STEPS[scale], FAST_STEPS[scale]
    yield from descent(problem, margin, slow)
    yield from stalling(problem, margin, slow)
    yield from fast(SPLIT, problem, quick)
    yield from fast(ONE_HOT_NGD, one_hot, quick)
    if seed < FLOW_SEEDS[scale]:
        yield from flow(problem, margin, FLOW_END[scale])


run = partial(run_seeds, num_seeds=NUM_SEEDS, measure=measure)
