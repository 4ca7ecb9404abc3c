"""Certificates of separability and compatibility, and plain arithmetic that verifies them.

Verification knows nothing of solvers: it multiplies matrices in NumPy and adds a bound on the
rounding. Statements are about the float64 numbers of the problem taken as exact reals, and are
relative: in finite precision, data that an arbitrarily small perturbation makes separable cannot be
told from separable data. Tolerances hold for embeddings of length 1, since separability does not
change when an embedding is made longer or shorter.

With L = W H, D the cone of B whose columns sum to 0 and that is <= 0 off the supports, and γ the
largest margin of a W of Frobenius norm 1 (Thrampoulidis 2024, arXiv 2402.18551, Defs. 1-3):

* separable: W with one logit per support and smaller ones outside;
* not separable (Farkas): B in D, not 0 off the supports, with B Hᵀ = 0; for any B in D,
  γ <= ‖B Hᵀ‖ / -Σ_off B;
* compatible: W with the in-support log ratios of P;
* not compatible (Fredholm): B 0 off the supports, columns summing to 0, with B Hᵀ = 0 and ⟨B, log
  P⟩ ≠ 0; for any such B, even with B Hᵀ ≠ 0, a W with those ratios has ‖W‖ >= ⟨B, log P⟩ / ‖B Hᵀ‖.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64

from el_jax.linear_ntp.problems.problem import NTPProblem, column_lengths
from el_jax.linear_ntp.theory.exact import exact_combination

_UNIT_ROUNDOFF = np.finfo(np.float64).eps / 2
SPREAD_TOLERANCE = 1e-6  # relative to the margin, for embeddings of length 1
MARGIN_TOLERANCE = 1e-10  # for embeddings of length 1
LOG_RATIO_TOLERANCE = 1e-8  # in nats
AMPLIFICATION = 1e8  # of log ratios by a decoder; no sane data need more


@dataclass(frozen=True, eq=False)
class SeparatingMatrix:
    """Proves separability: W with equal in-support logits, above all others, ``[V, d]``."""

    w: Float64[np.ndarray, "V d"]


@dataclass(frozen=True, eq=False)
class FarkasMatrix:
    """Refutes separability: B = ``b`` (+ ``rest``) in D with B Hᵀ = 0, ``[V, m]``."""

    b: Float64[np.ndarray, "V m"]
    rest: Float64[np.ndarray, "V m"] | None = None


@dataclass(frozen=True, eq=False)
class FiniteSolution:
    """Proves compatibility: W with the in-support log ratios of P, ``[V, d]``."""

    w: Float64[np.ndarray, "V d"]


@dataclass(frozen=True, eq=False)
class FredholmMatrix:
    """Refutes compatibility: in-support B with B Hᵀ = 0 and ⟨B, log P⟩ ≠ 0, ``[V, m]``."""

    b: Float64[np.ndarray, "V m"]


Certificate = SeparatingMatrix | FarkasMatrix | FiniteSolution | FredholmMatrix


@dataclass(frozen=True)
class Verification:
    """The result of verifying a certificate.

    Attributes:
        measured: the number compared with ``tolerance``; an upper bound on its exact value.
        tolerance: the largest value allowed.
        numbers: the quantities behind it, each rounded to the unfavourable side.
    """

    measured: float
    tolerance: float
    numbers: dict[str, float]

    @property
    def valid(self) -> bool:
        """True if the certificate proves what its type says; NaN proves nothing."""
        return bool(self.measured <= self.tolerance)


def verify_certificate(problem: NTPProblem, certificate: Certificate) -> Verification:
    """Check a certificate by plain arithmetic, rounding errors included.

    A valid certificate proves:

    * :class:`SeparatingMatrix`: the in-support logits of each context agree within ``spread``, all
      others lie at least ``margin`` > 0 below, and for embeddings of length 1 the spread would be
      at most 1e-6 of the margin. With one token in every support this proves separability outright.
      Otherwise any Farkas matrix, each context weighed by its length, is in absolute value at least
      2e6 times larger inside supports than outside.
    * :class:`FarkasMatrix`: γ <= ``margin_bound``, and for embeddings of length 1 γ would be at
      most 1e-10. Both bounds are rigorous: column sums are repaired and rounding is added. Float64
      cannot show that γ is exactly 0.
    * :class:`FiniteSolution`: probabilities that differ from P by at most ``residual`` nats in
      every in-support log probability, up to a constant a context, are exactly compatible.
    * :class:`FredholmMatrix`: a W with the log ratios of P has a Frobenius norm of at least
      ``norm_bound``, such that ‖W‖ max‖h‖ is over 1e8 times the largest log ratio.

    Raises:
        ValueError: if the certificate's matrix does not have the problem's shape.
        TypeError: if ``certificate`` is not a certificate.
    """
    verify = _VERIFY.get(type(certificate))
    if verify is None:
        raise TypeError(
            f"certificate is {type(certificate).__name__}: must be SeparatingMatrix, FarkasMatrix, "
            "FiniteSolution or FredholmMatrix"
        )
    (vocab_size, num_contexts), dim = problem.support.shape, problem.dim
    matrices = {
        name: np.asarray(m, np.float64) for name, m in vars(certificate).items() if m is not None
    }
    for name, matrix in matrices.items():
        expected = vocab_size, dim if name == "w" else num_contexts
        if matrix.shape != expected:
            raise ValueError(f"{name} has shape {matrix.shape}: must be {expected}")
    return verify(problem, **matrices)


class Separation(NamedTuple):
    """The spread and the margin of a decoder, rounding errors included.

    Attributes:
        spread: upper bound on the largest difference between two logits in one support.
        margin: lower bound on the least excess of a logit in a support over one off it.
        relative: spread over margin, for embeddings of length 1; infinite without margin.
    """

    spread: float
    margin: float
    relative: float


def separation(
    w: Float64[np.ndarray, "V d"],
    embeddings: Float64[np.ndarray, "d m"],
    support: Bool[np.ndarray, "V m"],
) -> Separation:
    """Spread and margin of the logits of ``w``."""
    logits, error = _product(w, embeddings)
    low, high = logits - error, logits + error
    lowest = np.where(support, low, np.inf).min(axis=0)
    highest = np.where(support, high, -np.inf).max(axis=0)
    several = support.sum(axis=0) > 1  # a support of one token has one logit
    spread = np.where(several, highest - lowest, 0.0)
    margin = lowest - np.where(support, -np.inf, high).max(axis=0)
    lengths = column_lengths(embeddings)
    unit = np.where(lengths > 0, lengths, 1.0)
    least = (margin / unit).min()
    relative = (spread / unit).max() / least if least > 0 else np.inf
    return Separation(float(spread.max()), float(margin.min()), float(relative))


def _verify_separating(problem: NTPProblem, w: np.ndarray) -> Verification:
    found = separation(w, problem.embeddings, problem.support)
    numbers = {"spread": found.spread, "margin": found.margin}
    return Verification(found.relative, SPREAD_TOLERANCE, numbers)


class MarginBound(NamedTuple):
    """The bounds that a matrix B of D puts on the max margin.

    Attributes:
        margin: bound on γ: ``combination / mass``.
        relative: bound on γ for embeddings of length 1.
        mass: lower bound on -Σ_off B.
        combination: upper bound on ‖B Hᵀ‖.
    """

    margin: float
    relative: float
    mass: float
    combination: float


def margin_bound(
    b: Float64[np.ndarray, "V m"],
    embeddings: Float64[np.ndarray, "d m"],
    support: Bool[np.ndarray, "V m"],
    rest: Float64[np.ndarray, "V m"] | None = None,
) -> MarginBound:
    """The bounds of ``b + rest``, with sums repaired and rounding included; infinite outside D."""
    if rest is None:
        size = _norm_of_combination(b, embeddings, support)
    else:
        exact = exact_combination(b, rest, embeddings)
        size = float(np.linalg.norm(exact.product)) + _repair(exact.sums, embeddings, support)
        size, b = size * (1 + _growth(b.size + len(embeddings))), b + rest
    outside = np.where(support, 0.0, -b).sum(axis=0)
    rounding = 1 - _growth(b.size + len(embeddings))
    mass = float(outside.sum()) * rounding
    weighed = float(outside @ column_lengths(embeddings)) * rounding
    if not ((b[~support] <= 0).all() and mass > 0):
        return MarginBound(np.inf, np.inf, mass, size)
    margin = size / mass
    return MarginBound(margin, float(size / weighed) if weighed > 0 else 0.0, mass, size)


def _verify_farkas(
    problem: NTPProblem, b: np.ndarray, rest: np.ndarray | None = None
) -> Verification:
    found = margin_bound(b, problem.embeddings, problem.support, rest)
    numbers = {
        "margin_bound": found.margin,
        "outside_mass": found.mass,
        "combination_norm": found.combination,
    }
    return Verification(found.relative, MARGIN_TOLERANCE, numbers)


def _verify_finite(problem: NTPProblem, w: np.ndarray) -> Verification:
    logits, error = _product(w, problem.embeddings)
    log_probs, support = problem.log_probs, problem.support
    gap = np.where(support, logits - log_probs, 0.0)
    slack = error + 4 * _UNIT_ROUNDOFF * (np.abs(logits) + np.abs(log_probs))
    high = np.where(support, gap + slack, -np.inf).max(axis=0)
    low = np.where(support, gap - slack, np.inf).min(axis=0)
    several = support.sum(axis=0) > 1
    residual = float(np.where(several, high - low, 0.0).max()) / 2
    return Verification(residual, LOG_RATIO_TOLERANCE, {"residual": residual})


def _verify_fredholm(problem: NTPProblem, b: np.ndarray) -> Verification:
    log_probs, support = problem.log_probs, problem.support
    mean = log_probs.sum(axis=0) / support.sum(axis=0)
    ratios = np.where(support, log_probs - mean, 0.0)  # pairing with these repairs column sums
    rounding = _growth(b.size) + _growth(problem.vocab_size)
    scale = np.where(support, np.abs(log_probs) + np.abs(mean), 0.0)
    pairing = abs(float((b * ratios).sum())) - rounding * float((np.abs(b) * scale).sum())
    size = _norm_of_combination(b, problem.embeddings, support)
    bound = np.inf if size == 0 else pairing / size
    inside = not b[~support].any()
    largest = float(np.abs(ratios).max())
    reach = bound * float(column_lengths(problem.embeddings).max())
    proven = inside and pairing > 0 and largest > 0
    measured = (0.0 if np.isinf(bound) else largest / reach) if proven else np.inf
    numbers = {"norm_bound": bound, "pairing": pairing, "combination_norm": size}
    return Verification(measured, 1 / AMPLIFICATION, numbers)


def _norm_of_combination(b: np.ndarray, embeddings: np.ndarray, support: np.ndarray) -> float:
    """An upper bound on ‖B' Hᵀ‖, where B' is B with its column sums repaired inside supports."""
    combination, error = _product(b, embeddings.T)
    sums = np.abs(b.sum(axis=0)) + _growth(len(b)) * np.abs(b).sum(axis=0)
    total = _size(combination) + _size(error) + _repair(sums, embeddings, support)
    return float(total * (1 + _growth(b.size + combination.size)))


def _repair(sums: np.ndarray, embeddings: np.ndarray, support: np.ndarray) -> float:
    """The most that ‖B Hᵀ‖ grows when column sums are made 0 inside supports."""
    return float((np.abs(sums) / np.sqrt(support.sum(axis=0)) * column_lengths(embeddings)).sum())


def _product(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A product and the bound of Higham (2002), eq. 3.13, on its rounding errors."""
    return left @ right, _growth(left.shape[1] + 2) * (np.abs(left) @ np.abs(right))


def _size(matrix: np.ndarray) -> float:
    """‖matrix‖, correct even if squares underflow."""
    return float(column_lengths(matrix.reshape(-1, 1))[0])


def _growth(terms: int) -> float:
    """γ_n = n u / (1 - n u): relative error of a sum of n terms, in any order."""
    return terms * _UNIT_ROUNDOFF / (1 - terms * _UNIT_ROUNDOFF)


_VERIFY: dict[type, Callable[..., Verification]] = {
    SeparatingMatrix: _verify_separating,
    FarkasMatrix: _verify_farkas,
    FiniteSolution: _verify_finite,
    FredholmMatrix: _verify_fredholm,
}
