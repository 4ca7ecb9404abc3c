"""Gradient flow to times that no number of steps reaches."""

from collections.abc import Mapping, Sequence

import jax
import numpy as np
from jax import Array
from jaxtyping import ArrayLike, Float
from scipy.integrate import solve_ivp

from el_jax.linear_ntp.problems.problem import NTPProblem, check_problem
from el_jax.linear_ntp.theory.landscape import Landscape, landscape, slope_at
from el_jax.linear_ntp.theory.metrics import decoder_metrics
from el_jax.linear_ntp.theory.objective import hessian
from el_jax.linear_ntp.theory.subspace import decomposed
from el_jax.linear_ntp.theory.trajectory import Trajectory
from el_jax.process.double_precision import float64
from el_jax.process.errors import require


def gradient_flow(
    problem: NTPProblem,
    times: Sequence[float] | Float[ArrayLike, "marks"],
    *,
    initial: Float[np.ndarray | Array, "V d"] | None = None,
    w_mm: Mapping[str, Float[np.ndarray | Array, "V d"]] | None = None,
    rtol: float = 1e-6,
    atol: float = 1e-8,
) -> Trajectory:
    """Solve dW/dt = -∇CE(W), the limit of gradient descent for small steps, t = η k.

    Integrates in τ = log(1 + t), in which W moves about evenly, by an implicit method of variable
    order (BDF) with the exact Hessian, since the part in F becomes ever stiffer. One solve costs (V
    rank H)³; t = 1e12 takes some hundred steps.

    Args:
        problem: the data.
        times: t at which to measure, increasing, at least 0.
        initial: W at t = 0; zeros when None.
        w_mm: max-margin matrices by norm, for the metrics that compare with them.
        rtol: relative error of W allowed per step, below 1.
        atol: absolute error of W allowed per step. From t of about 1e10 on, ‖P_F W - W*‖ is below
            what the defaults resolve; 1e-10 and 1e-14 follow it to 1e12.

    Raises:
        ValueError: if times are not finite, do not increase from at least 0, or shapes or ``rtol``
            are wrong.
        TypeError: if ``problem`` is not an NTPProblem.
        RuntimeError: if the integrator gives up.
    """
    check_problem(problem)
    require("rtol", rtol, 0 < rtol < 1, "between 0 and 1")
    marks = np.asarray(times, np.float64)
    increase = marks.ndim == 1 and marks.size > 0 and (np.diff(marks) > 0).all()
    if not (increase and np.isfinite(marks).all() and marks[0] >= 0):
        raise ValueError(f"times={times!r}: must increase from at least 0, and be finite")
    start = problem.decoder(initial)
    if marks[-1] == 0:
        return Trajectory(marks, decoder_metrics(problem, start[None], w_mm=w_mm), start)
    # ∇CE lies in the span of the embeddings, so W moves in as many columns as their rank
    span = decomposed(problem.embeddings)[0]  # [d, rank H]
    shape = (problem.vocab_size, span.shape[1])

    def velocity(tau: float, y: np.ndarray) -> np.ndarray:
        W = start + y.reshape(shape) @ span.T
        return -np.exp(tau) * np.asarray(_gradient_at(W, here) @ span).ravel()

    def jacobian(tau: float, y: np.ndarray) -> np.ndarray:
        W = start + y.reshape(shape) @ span.T
        curvature = hessian(problem, W, span.T @ problem.embeddings)
        return -np.exp(tau) * curvature.reshape(y.size, y.size)

    with float64():
        here = landscape(problem)
        taus = np.log1p(marks)
        solution = solve_ivp(
            velocity,
            (0.0, taus[-1]),
            np.zeros(shape).ravel(),
            method="BDF",
            t_eval=taus,
            jac=jacobian,
            rtol=rtol,
            atol=atol,
        )
    if not solution.success:
        raise RuntimeError(
            f"gradient flow stopped at t={np.expm1(solution.t[-1])}: {solution.message}"
        )
    decoders = start + solution.y.T.reshape(-1, *shape) @ span.T
    return Trajectory(marks, decoder_metrics(problem, decoders, w_mm=w_mm), decoders[-1])


@jax.jit
def _gradient_at(W: Array, landscape: Landscape) -> Array:
    return slope_at(W, landscape).gradient
