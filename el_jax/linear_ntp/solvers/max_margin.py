"""NTP-SVM: the decoder of largest margin, in the geometry of an optimizer.

W_mm = argmin N(W) such that in-support logits are equal and all others at least 1 below
(Thrampoulidis 2024, arXiv 2402.18551, Definition 3, where N is the Frobenius norm and gradient
descent converges to its direction). It depends on embeddings and supports only.
"""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float, Float64, Int

from el_jax.linear_ntp.problems.problem import NTPProblem, check_problem
from el_jax.linear_ntp.solvers.cascade import SOLVERS
from el_jax.linear_ntp.solvers.conditions import (
    Separability,
    check_collision,
    check_separability,
    is_doubtful,
    may_be_refined,
)
from el_jax.linear_ntp.solvers.dual import MarginBracket, bracket, tighter
from el_jax.linear_ntp.solvers.scaling import MarginProblem, scaled
from el_jax.linear_ntp.theory.certificates import (
    SeparatingMatrix,
    verify_certificate,
)
from el_jax.linear_ntp.theory.norms import Norm, check_norm, dual_norm, logit_margin, matrix_norm
from el_jax.linear_ntp.theory.objective import residual
from el_jax.process.errors import require

_CROSSED = 1e-6  # how far bounds may cross by rounding
# Slack, at unit margin, up to which a constraint counts as binding: absolute, and per gap.
_BINDING, _BINDING_PER_GAP = 1e-6, 100


class NotSeparableError(ValueError):
    """No decoder separates the data.

    Attributes:
        certificate: the Farkas matrix that shows it.
    """

    def __init__(self, verdict: Separability):
        bound = verdict.margin_interval[1]
        super().__init__(
            f"the data are not separable: no decoder has a margin above {bound:.1e} times its norm"
        )
        self.certificate = verdict.certificate


class UndecidedError(RuntimeError):
    """The iterations allowed did not decide whether the data are separable.

    Attributes:
        interval: bounds on the max margin.
    """

    def __init__(self, message: str, interval: tuple[float, float]):
        super().__init__(message)
        self.interval = interval


class KKT(NamedTuple):
    """Residuals of the optimality conditions at W (of unit margin) and B; 0 at the optimum.

    Attributes:
        equality: largest spread of logits in a support, in nats.
        inequality: largest excess of a logit off the support over c_j - 1, in nats.
        sign: largest entry of B off the supports, and largest column sum, over the largest |B|.
        slackness: largest |B| (c_j - 1 - L), over the mass of B off the supports.
        stationarity: how far B Hᵀ is from a multiple of the gradient of N at W. For the Frobenius
            norm ‖W - B Hᵀ‖ / ‖W‖, otherwise 1 - ⟨W, B Hᵀ⟩ / (N(W) N*(B Hᵀ)).
    """

    equality: float
    inequality: float
    sign: float
    slackness: float
    stationarity: float


@dataclass(frozen=True, eq=False)
class MaxMargin:
    """The solution of NTP-SVM in one norm, with its proof.

    Attributes:
        norm: N.
        w: the matrix W_mm, at unit margin, ``[V, d]``.
        margin: N-margin of W_mm, 1 / N(W_mm): the lower end of ``interval``.
        dual: B in D, scaled so that -Σ_off B = N(W_mm)²; for the Frobenius norm W_mm = B Hᵀ,
            ``[V, m]``.
        active: the constraints that bind, within 1e-6 and 100 gaps: pairs (context, token outside
            its support), ``[n, 2]``.
        kkt: residuals of the optimality conditions.
        gap: 1 - lower / upper end of ``interval``.
        interval: bounds on γ, up to rounding: W_mm proves the lower end, B the upper.
        iterations: number of solver iterations.
    """

    norm: Norm
    w: Float64[np.ndarray, "V d"]
    margin: float
    dual: Float64[np.ndarray, "V m"]
    active: Int[np.ndarray, "n 2"]
    kkt: KKT
    gap: float
    interval: tuple[float, float]
    iterations: int

    def __repr__(self) -> str:
        return (
            f"MaxMargin({self.norm} margin {self.margin:.6g}, norm of w {1 / self.margin:.6g}, "
            f"gap {self.gap:.1e}, {self.iterations} iterations, w {list(self.w.shape)})"
        )


def max_margin(
    problem: NTPProblem,
    norm: Norm = "frobenius",
    *,
    tolerance: float = 1e-10,
    max_iterations: int | None = None,
) -> MaxMargin:
    """Solve NTP-SVM.

    Args:
        problem: its probabilities do not matter, only their support.
        norm: "frobenius" (gradient descent; unique solution, gap of about 1e-14), "max" (sign
            descent and Adam; a linear program, by splitting where it is too large), "spectral"
            (Muon) or "nuclear" (learnt embeddings, of H = I; both are cone programs, by splitting
            where they are too large).
        tolerance: on the relative gap, between 0 and 1. If iterations run out first, the result is
            still valid with its larger ``gap``, and a warning is issued.
        max_iterations: at least 1. None means 100 000 for the Frobenius norm (an active set instead
            if the problem is small and they are slow) and 10 000 for splitting (a cone program
            instead if the problem is small).

    Raises:
        NotSeparableError: with a verified certificate.
        UndecidedError: if no decoder that separates was found, nor a certificate that none exists.
        ValueError: if ``norm`` is none of these, ``tolerance`` is not between 0 and 1, or
            ``max_iterations`` is below 1.
        TypeError: if ``problem`` is not an NTPProblem.
    """
    check_problem(problem)
    check_norm(norm)
    require("tolerance", tolerance, 0 < tolerance < 1, "between 0 and 1")
    valid = max_iterations is None or max_iterations >= 1
    require("max_iterations", max_iterations, valid, "at least 1")
    if (collision := check_collision(problem)) is not None:
        raise NotSeparableError(collision)
    alike = scaled(problem)
    found = SOLVERS[norm](alike, tolerance, max_iterations)
    doubtful = may_be_refined(alike, max_iterations) and is_doubtful(
        verify_certificate(problem, SeparatingMatrix(found.w))
    )
    if found.lower == 0 or found.gap < -_CROSSED or doubtful:
        verdict = check_separability(problem, max_iterations=max_iterations)
        if verdict.holds is False:
            raise NotSeparableError(verdict)
        if isinstance(verdict.certificate, SeparatingMatrix):
            w = verdict.certificate.w
            found = tighter(found, bracket(alike, w, found.dual, norm, found.iterations))
    if found.gap < -_CROSSED or not verify_certificate(problem, SeparatingMatrix(found.w)).valid:
        upper = found.upper / alike.unit
        raise UndecidedError(f"undecided: the max margin lies in [0, {upper:.3g}]", (0.0, upper))
    if found.gap > tolerance:
        warnings.warn(
            f"max margin in the {norm} norm: relative gap {found.gap:.1e} after "
            f"{found.iterations} iterations, above tolerance={tolerance:g}",
            RuntimeWarning,
            stacklevel=2,
        )
    return _solution(problem, alike, norm, found)


def margin_upper_bound(
    problem: NTPProblem, w: Float[ArrayLike, "V d"], norm: Norm = "frobenius"
) -> float:
    """‖∇CE(W)‖_* / G(W) ≥ γ, for every W: an upper bound on the max margin without a solver.

    The residuals R = π (p - softmax) lie in D and ∇CE = -R Hᵀ, so the dual of the max-margin
    problem bounds γ by ‖R Hᵀ‖_* / -Σ_off R; G = -Σ_off R is the leaked mass. This is the next-token
    form of Lemma 1 of Fan, Schmidt and Thrampoulidis 2025 (arXiv 2502.04664). It tightens along
    training, before margins do.

    Returns:
        The bound; infinity where the leak underflows, NaN where W has one.

    Raises:
        ValueError: if ``norm`` is unknown, or W is not ``[V, d]``.
    """
    check_norm(norm)
    dual = residual(problem, np.asarray(w, np.float64))
    leaked = float(-dual[~problem.support].sum())
    if np.isnan(leaked):
        return np.nan
    return dual_norm(dual @ problem.embeddings.T, norm) / leaked if leaked > 0 else np.inf


def _solution(
    problem: NTPProblem, alike: MarginProblem, norm: Norm, found: MarginBracket
) -> MaxMargin:
    """W and B of the bracket at unit margin, for the original embeddings."""
    embeddings, support = problem.embeddings, problem.support
    w = found.w / logit_margin(found.w @ embeddings, support).margin.min()
    size = float(matrix_norm(w, norm))
    dual = found.dual * alike.column_scale
    dual = dual * (size**2 / -dual[~support].sum())
    logits = w @ embeddings
    level = np.where(support, logits, 0.0).sum(axis=0) / support.sum(axis=0)
    slack = np.where(support, np.inf, level - 1 - logits)
    return MaxMargin(
        norm=norm,
        w=w,
        margin=1 / size,
        dual=dual,
        active=np.argwhere(_BINDING + _BINDING_PER_GAP * found.gap >= slack.T),
        kkt=_kkt(problem, norm, w, dual, slack),
        gap=found.gap,
        interval=(found.lower / alike.unit, found.upper / alike.unit),
        iterations=found.iterations,
    )


def _kkt(
    problem: NTPProblem, norm: Norm, w: np.ndarray, dual: np.ndarray, slack: np.ndarray
) -> KKT:
    outside, combination = ~problem.support, dual @ problem.embeddings.T
    size = matrix_norm(w, norm)
    if norm == "frobenius":
        stationarity = np.linalg.norm(w - combination) / size
    else:
        stationarity = abs(1 - np.sum(w * combination) / (size * dual_norm(combination, norm)))
    sign = max(dual[outside].max(), np.abs(dual.sum(axis=0)).max(), 0.0)
    return KKT(
        equality=float(logit_margin(w @ problem.embeddings, problem.support).spread.max()),
        inequality=float(max(0.0, -slack.min())),
        sign=float(sign / np.abs(dual).max()),
        slackness=float(np.abs(dual[outside] * slack[outside]).max() / -dual[outside].sum()),
        stationarity=float(stationarity),
    )
