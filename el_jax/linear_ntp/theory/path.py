"""The regularization path: minimisers of the loss under a penalty, or within a ball.

Thrampoulidis 2024 (arXiv 2402.18551), Theorem 1: where data are compatible and separable, the
minimiser over a ball turns towards the max-margin matrix as the ball grows, and its part in F tends
to W*. Minimisers under a ridge penalty are the same curve: λ is the multiplier of the ball.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jax import Array
from jaxtyping import ArrayLike, Bool, Float, Float64
from scipy.optimize import brentq, root

from el_jax.linear_ntp.problems.problem import NTPProblem, check_problem
from el_jax.linear_ntp.theory.metrics import decoder_metrics
from el_jax.linear_ntp.theory.norms import Norm, check_norm, dual_norm, matrix_norm
from el_jax.linear_ntp.theory.objective import gradient, hessian, smoothness_bound
from el_jax.linear_ntp.theory.subspace import decomposed
from el_jax.process.errors import require


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """Minimisers along the path, in the order requested.

    Attributes:
        ridge: λ of each; for a ball, the multiplier of its constraint, ``[n]``.
        decoders: W of each, ``[n, V, d]``.
        stationarity: ‖∇CE(W) + λ W‖ / (λ ‖W‖), ``[n]``. The penalised loss is λ-strongly convex, so
            W is no further than this from the exact minimiser, relative to ‖W‖.
        converged: whether stationarity and the relative error of a radius are at most
            ``tolerance``, ``[n]``.
        metrics: the metrics of ``decoder_metrics`` by name, ``[n]`` each.
    """

    ridge: Float64[np.ndarray, "n"]
    decoders: Float64[np.ndarray, "n V d"] = field(repr=False)
    stationarity: Float64[np.ndarray, "n"]
    converged: Bool[np.ndarray, "n"]
    metrics: dict[str, Float64[np.ndarray, "n"]]


def regularization_path(
    problem: NTPProblem,
    *,
    ridge: Sequence[float] | Float[ArrayLike, "n"] | None = None,
    radius: Sequence[float] | Float[ArrayLike, "n"] | None = None,
    w_mm: Mapping[str, Float[np.ndarray | Array, "V d"]] | None = None,
    tolerance: float = 1e-6,
) -> RegularizationPath:
    """Minimise CE(W) + λ/2 ‖W‖² for each λ, or CE(W) over ‖W‖ <= B for each B; CE in nats.

    MINPACK solves ∇CE(W) + λ W = 0 with the exact Hessian, from the minimiser of a larger λ, in
    (V rank H)³ operations: .03 seconds for 160 unknowns, .5 for 500. Rounding of the logits leaves
    a stationarity of about 2e-17 ``smoothness_bound`` / λ.

    Args:
        problem: the data.
        ridge: λ, in any order; these or ``radius`` must be given.
        radius: B in the Frobenius norm, in any order.
        w_mm: max-margin matrices by norm, for the metrics that compare with them.
        tolerance: on the relative error of W, see ``RegularizationPath.stationarity``; below 1.

    Raises:
        ValueError: unless exactly one of the two is given, positive and finite; for a wrong
            tolerance; or if ∇CE(0) = 0, so that all minimisers are 0.

    Warns:
        RuntimeWarning: if a point misses the tolerance: its λ is too small for float64, or its ball
            holds a minimiser of CE, as it may where data are not separable.
    """
    check_problem(problem)
    require("tolerance", tolerance, 0 < tolerance < 1, "between 0 and 1")
    given = np.asarray(ridge if radius is None else radius, np.float64)
    one = (ridge is None) != (radius is None) and given.ndim == 1 and given.size > 0
    valid = one and bool((np.isfinite(given) & (given > 0)).all())
    allowed = "a list of positive finite numbers for one of them and None for the other"
    require("ridge, radius", (ridge, radius), valid, allowed)
    follower = _Follower(problem, tolerance)
    solve = follower.at_radius if ridge is None else follower.at_ridge
    # from small W to large: each starts from the one before
    points = {value: solve(value) for value in sorted({*given.tolist()}, reverse=radius is None)}
    lams, decoders, errors = map(np.array, zip(*map(points.get, given.tolist()), strict=True))
    metrics = decoder_metrics(problem, decoders, w_mm=w_mm)
    off = np.abs(metrics["norm"] / given - 1) if ridge is None else np.zeros(given.size)
    converged = (errors <= tolerance) & (off <= tolerance)
    if not converged.all():
        bad = converged.argmin()
        message = (
            f"{(~converged).sum()} of {given.size} path points miss tolerance={tolerance:g}; "
            f"at {given[bad]:g} stationarity is {errors[bad]:.1e}, ridge {lams[bad]:.1e}, the "
            f"relative error of the radius {off[bad]:.1e}"
        )
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return RegularizationPath(lams, decoders, errors, converged, metrics)


def frank_wolfe_gap(
    problem: NTPProblem, decoder: Float[np.ndarray | Array, "V d"], norm: Norm, radius: float
) -> float:
    """⟨∇CE(W), W⟩ + B ‖∇CE(W)‖_*, a bound on CE(W) minus its minimum over ‖W‖ <= B.

    CE is convex, so the bound needs no minimiser (Jaggi 2013).

    Args:
        problem: the data.
        decoder: W, in the ball.
        norm: norm of the ball; ‖·‖_* is its dual.
        radius: B.

    Raises:
        ValueError: for an unknown norm or a wrong shape, or if W is not in the ball.
    """
    check_norm(norm)
    W = problem.decoder(decoder)
    size = float(matrix_norm(W, norm))
    inside = bool(size <= radius * (1 + 1e-6))
    require("radius", radius, inside, f"at least {size:g}, the norm of W")
    slope = gradient(problem, W)
    return float(np.sum(slope * W) + radius * dual_norm(slope, norm))


class _Follower:
    """A minimiser that moves along the path; a point is λ, W and its stationarity."""

    def __init__(self, problem: NTPProblem, tolerance: float) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.lam, self.W = np.inf, problem.decoder()
        self.slope = float(np.linalg.norm(gradient(problem, self.W)))
        require("problem", problem, self.slope > 0, "one whose cross-entropy has a slope at W = 0")
        self.span = decomposed(problem.embeddings)[0]  # span of the embeddings; ∇CE and W lie in it

    def at_ridge(self, lam: float) -> tuple[float, np.ndarray, float]:
        """The minimiser at λ, reached through larger λ at most a decade apart."""
        while self.lam != lam:
            self._solve(max(lam, min(self.lam / 10, smoothness_bound(self.problem))))
        return lam, self.W, self._stationarity()

    def at_radius(self, radius: float) -> tuple[float, np.ndarray, float]:
        """The minimiser of that norm, or of the least λ solved if all have smaller norms."""

        def excess(log_lam: float) -> float:
            self.lam, self.W = before  # from a W too large the solver may not come back
            self.at_ridge(np.exp(log_lam))
            return float(np.log(np.linalg.norm(self.W) / radius))

        # λ ‖W_λ‖ = ‖∇CE(W_λ)‖ <= ‖∇CE(0)‖, as ∇CE is monotone
        self.at_ridge(min(self.lam, self.slope / radius))
        before = self.lam, self.W
        while np.linalg.norm(self.W) < radius and self._stationarity() <= self.tolerance:
            before = self.lam, self.W
            self.at_ridge(self.lam / 10)
        if np.linalg.norm(self.W) > radius:
            excess(brentq(excess, np.log(self.lam), np.log(before[0]) + 0.01, xtol=1e-12))
        return self.at_ridge(self.lam)

    def _solve(self, lam: float) -> None:
        problem, span = self.problem, self.span

        def decoder(y: np.ndarray) -> np.ndarray:
            return y.reshape(problem.vocab_size, -1) @ span.T

        def residual(y: np.ndarray) -> np.ndarray:
            return (gradient(problem, decoder(y)) @ span).ravel() + lam * y

        def jacobian(y: np.ndarray) -> np.ndarray:
            curvature = hessian(problem, decoder(y), span.T @ problem.embeddings)
            return curvature.reshape(y.size, y.size) + lam * np.eye(y.size)

        found = root(residual, (self.W @ span).ravel(), jac=jacobian, options={"xtol": 1e-14})
        self.lam, self.W = lam, decoder(found.x)

    def _stationarity(self) -> float:
        residual = gradient(self.problem, self.W) + self.lam * self.W
        return float(np.linalg.norm(residual) / (self.lam * np.linalg.norm(self.W)))
