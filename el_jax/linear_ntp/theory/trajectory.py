"""Long runs of an optimisation method, measured at a few log-spaced steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import ArrayLike, Float, Float64, Int, Num

from el_jax.linear_ntp.problems.problem import NTPProblem, check_problem
from el_jax.linear_ntp.theory.directions import DIRECTIONS, Adam, Direction, Memory, Steepest
from el_jax.linear_ntp.theory.landscape import (
    Landscape,
    Slope,
    cumulative_pairs,
    landscape,
    sampled_gradient,
    slope_at,
)
from el_jax.linear_ntp.theory.metrics import checked_references, metrics_at
from el_jax.linear_ntp.theory.norms import matrix_norm
from el_jax.process.double_precision import float64
from el_jax.process.errors import require


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The measurements along one run, or several at once.

    Attributes:
        steps: the marks: steps taken, or times of a gradient flow, ``[marks]``.
        metrics: the metrics of ``decoder_metrics`` by name, ``[*runs, marks]``, and for methods
            with steps ``effective_step_size``, the length of the next step, without weight decay,
            over ‖∇CE‖.
        final: W after the last step, marked or not, or at the last time of a flow,
            ``[*runs, V, d]``.
    """

    steps: Num[np.ndarray, "marks"]
    metrics: dict[str, Float64[np.ndarray, "*runs marks"]]
    final: Float64[np.ndarray, "*runs V d"]

    def __repr__(self) -> str:
        return (
            f"Trajectory({len(self.steps)} marks, the last at {self.steps[-1]:.6g}; "
            f"metrics: {', '.join(self.metrics)}; final {list(self.final.shape)})"
        )


def run_trajectory(
    problem: NTPProblem,
    method: str | Direction,
    step_size: Float[ArrayLike, "..."],
    num_steps: int,
    *,
    initial: Float[np.ndarray | Array, "*seeds V d"] | None = None,
    decay: float = 0.0,
    weight_decay: float = 0.0,
    batch: int = 0,
    seed: int = 0,
    num_marks: int = 50,
    marks: Sequence[int] | None = None,
    w_mm: Mapping[str, Float[np.ndarray | Array, "V d"]] | None = None,
) -> Trajectory:
    """Run a method from each start with each step size, all runs in one program.

    Step k = 0, 1, ... subtracts the method's direction with step size η_k = η (k + 1)^-a. With a
    decoupled weight decay λ it also subtracts η_k λ W. A method whose steps have length η_k in a
    norm, such as "sign", is then the Frank-Wolfe method in that norm's ball of radius 1 / λ
    (:func:`frank_wolfe_gap`).

    Args:
        problem: the data.
        method: a name in ``DIRECTIONS``, or a method with other settings, such as
            ``Adam(epsilon=1e-8)``.
        step_size: η, a scalar or an array.
        num_steps: steps of each run.
        initial: where to start; zeros when None. Leading axes are seeds, and broadcast against
            those of ``step_size``: ``initial [R, 1, V, d]`` with ``step_size [E]`` gives ``[R, E]``
            runs. The part of W that CE does not depend on stays as it was.
        decay: a, the exponent of the step size; not a decay of weights.
        weight_decay: λ; AdamW is the method "adam" with a positive λ.
        batch: number of pairs (context, next token) that each step draws anew from the problem; 0
            for all pairs with their probabilities. Metrics always use the whole problem.
        seed: seed of the draws, which differ between runs.
        num_marks: number of log-spaced steps to measure at, see :func:`log_spaced_marks`.
        marks: the steps to measure at instead, increasing, at most ``num_steps``.
        w_mm: max-margin matrices by norm, for the metrics that compare with them.

    Raises:
        ValueError: for an unknown method or norm, a wrong shape, a step size that is not positive
            and finite, a negative or infinite decay, marks out of order, or a batch for a method
            that must know the whole loss.
    """
    check_problem(problem)
    direction = _direction(method)
    require("batch", batch, batch >= 0, "at least 0")
    for name, rate in (("decay", decay), ("weight_decay", weight_decay)):
        require(name, rate, 0 <= rate < np.inf, "at least 0 and finite")
    if batch and not isinstance(direction, Steepest | Adam):
        raise ValueError(f"batch={batch}: must be 0 for {method!r}, which reads the whole loss")
    steps = log_spaced_marks(num_steps, num_marks) if marks is None else np.asarray(marks, int)
    if steps.size == 0 or (np.diff(steps) <= 0).any() or steps[0] < 0 or steps[-1] > num_steps:
        raise ValueError(f"marks={marks!r}: must increase from at least 0 to at most {num_steps}")
    start = problem.decoder() if initial is None else np.asarray(initial, np.float64)
    problem.decoder(start.reshape(-1, *start.shape[-2:])[0])
    sizes = np.asarray(step_size, np.float64)
    positive = bool(((sizes > 0) & (sizes < np.inf)).all())
    require("step_size", step_size, positive, "positive and finite")
    runs = np.broadcast_shapes(sizes.shape, start.shape[:-2])
    shape = start.shape[-2:]
    with float64():
        final, metrics = _run_all(
            np.broadcast_to(start, (*runs, *shape)).reshape(-1, *shape),
            np.broadcast_to(sizes, runs).ravel(),
            float(decay),
            float(weight_decay),
            np.append(steps, num_steps),
            landscape(problem),
            checked_references(problem, w_mm),
            direction,
            batch,
            seed,
        )
    return Trajectory(
        steps,
        {k: np.asarray(v)[:, : len(steps)].reshape(*runs, -1) for k, v in metrics.items()},
        np.asarray(final).reshape(*runs, *shape),
    )


def log_spaced_marks(num_steps: int, num_marks: int = 50) -> Int[np.ndarray, "marks"]:
    """0 and up to ``num_marks`` steps from 1 to ``num_steps``, evenly spaced in log k."""
    require("num_steps", num_steps, num_steps >= 1, "at least 1")
    require("num_marks", num_marks, num_marks >= 2, "at least 2")
    spaced = np.unique(np.rint(np.geomspace(1, num_steps, num_marks)).astype(int))
    return np.concatenate([[0], spaced])


def _direction(method: str | Direction) -> Direction:
    if isinstance(method, Direction) and not isinstance(method, type):
        return method
    if not isinstance(method, str) or method not in DIRECTIONS:
        raise ValueError(
            f"method={method!r}: must be one of {', '.join(DIRECTIONS)}, or a Direction such as "
            'Adam(); AdamW is "adam" with weight_decay='
        )
    return DIRECTIONS[method]


@partial(jax.jit, static_argnames=("direction", "batch"))
def _run_all(
    initial: Array,
    step_sizes: Array,
    decay: Array,
    weight_decay: Array,
    marks: Array,
    landscape: Landscape,
    references: Mapping[str, Array],
    direction: Direction,
    batch: int,
    seed: Array,
) -> tuple[Array, dict[str, Array]]:
    """Final decoders and metrics of R runs: ``[R, V, d]`` and ``[R, marks]``."""
    pairs = cumulative_pairs(landscape)

    def run(W: Array, step_size: Array, key: Array) -> tuple[Array, dict[str, Array]]:
        def one_step(k: Array, carry: tuple[Array, Memory]) -> tuple[Array, Memory]:
            W, memory = carry
            slope = slope_at(W, landscape)
            if batch:
                drawn = jax.random.fold_in(key, k)
                slope = slope._replace(gradient=sampled_gradient(W, landscape, pairs, drawn, batch))
            change, memory = step(slope, memory, k)
            return W - size(k) * weight_decay * W - change, memory

        def size(k: Array) -> Array:
            return step_size * (k + 1.0) ** -decay

        def step(slope: Slope, memory: Memory, k: Array) -> tuple[Array, Memory]:
            return direction.step(slope, memory, size(k))

        def to_mark(carry: tuple, mark: Array) -> tuple[tuple, dict[str, Array]]:
            k, W, memory = carry
            W, memory = lax.fori_loop(k, mark, one_step, (W, memory))
            slope = slope_at(W, landscape)
            metrics = metrics_at(W, slope, landscape, references)
            length = matrix_norm(step(slope, memory, mark)[0], "frobenius")
            metrics["effective_step_size"] = length / metrics["gradient_norm"]
            return (mark, W, memory), metrics

        start = (jnp.zeros((), marks.dtype), W, direction.init(W))
        (_, W, _), metrics = lax.scan(to_mark, start, marks)
        return W, metrics

    keys = jax.random.split(jax.random.key(seed), len(initial))
    return jax.vmap(run)(initial, step_sizes, keys)
