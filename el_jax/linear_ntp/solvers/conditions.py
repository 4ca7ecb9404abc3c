"""Verdicts on the separability and compatibility of next-token data, each with its proof.

The two conditions of Thrampoulidis 2024 (arXiv 2402.18551, Definitions 1 and 2) are together
necessary and sufficient for the infimum of cross entropy to be the entropy of the data (Proposition
1). A verdict rests on a certificate that ``certificates.py`` has verified, never on a solver's
status. Without a valid certificate the verdict is undecided.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool
from scipy.sparse.csgraph import connected_components

from el_jax.linear_ntp.problems.problem import NTPProblem, check_problem, column_lengths
from el_jax.linear_ntp.solvers import active_set
from el_jax.linear_ntp.solvers.dual import MarginBracket, in_cone
from el_jax.linear_ntp.solvers.faces import refined, solve_on_face
from el_jax.linear_ntp.solvers.frobenius import farkas, frobenius_bracket
from el_jax.linear_ntp.solvers.full_rank import full_rank_bracket
from el_jax.linear_ntp.solvers.max_norm import is_affordable, max_norm_bracket
from el_jax.linear_ntp.solvers.scaling import MarginProblem, levelled
from el_jax.linear_ntp.theory.certificates import (
    FarkasMatrix,
    FiniteSolution,
    FredholmMatrix,
    SeparatingMatrix,
    Verification,
    margin_bound,
    verify_certificate,
)
from el_jax.linear_ntp.theory.collisions import compatibility_collisions, separability_collisions
from el_jax.linear_ntp.theory.exact import is_exactly_affordable
from el_jax.linear_ntp.theory.subspace import centred, finite_component
from el_jax.process.errors import require

# Iterations of the ascent: before other methods are tried, and in total.
_FIRST_ITERATIONS, _MAX_ITERATIONS = 300, 20_000
_NAMED = 8  # contexts named in a reason
# Spread over margin above which exact arithmetic may know better than a decoder.
_DOUBTFUL = 1e-9


@dataclass(frozen=True, eq=False)
class Separability:
    """The verdict on separability: some W has equal in-support logits and smaller ones outside.

    Attributes:
        holds: None when undecided.
        certificate: the proof; None when undecided.
        verification: the certificate's :func:`~el_jax.linear_ntp.verify_certificate`.
        reason: the same in words; if the condition fails, which contexts contradict each other.
        margin_interval: bounds on the max Frobenius margin γ, up to rounding, only as narrow as the
            verdict needed; ``max_margin`` closes the interval.
    """

    holds: bool | None
    certificate: SeparatingMatrix | FarkasMatrix | None
    verification: Verification | None
    reason: str
    margin_interval: tuple[float, float]

    def __repr__(self) -> str:
        return f"Separability(holds={self.holds}, reason={self.reason!r})"


@dataclass(frozen=True, eq=False)
class Compatibility:
    """The verdict on compatibility: some W has the in-support log ratios of the data.

    Attributes:
        holds: as in :class:`Separability`, like the three that follow.
        certificate: the proof.
        verification: its verification.
        reason: the same in words.
        relative_residual: ‖A W* - Π log P‖ / ‖Π log P‖ at the least-squares solution W*, where Π
            log P are the centred log probabilities inside supports; 0 if they are 0.
    """

    holds: bool | None
    certificate: FiniteSolution | FredholmMatrix | None
    verification: Verification | None
    reason: str
    relative_residual: float

    def __repr__(self) -> str:
        return f"Compatibility(holds={self.holds}, reason={self.reason!r})"


def check_separability(problem: NTPProblem, *, max_iterations: int | None = None) -> Separability:
    """Decide separability (Definition 2).

    The search starts with colliding embeddings, since they give readable certificates. It then
    scales embeddings to comparable length and tries, until one gives a certificate: ascent on the
    Frobenius dual; a factorisation, if embeddings are linearly independent; an active set and the
    linear program of the max norm, if the problem is small enough; their dual matrices, refined in
    rational arithmetic, if it is smaller still. In that case a decoder whose logits in a support
    differ by more than 1e-9 of its margin is the verdict only if none of these finds a Farkas
    matrix.

    Args:
        problem: its probabilities do not matter, only their support.
        max_iterations: limit on the ascent, at least 1; None means 20 000, and an active set.

    Raises:
        ValueError: if ``max_iterations`` is below 1.
    """
    check_problem(problem)
    valid = max_iterations is None or max_iterations >= 1
    require("max_iterations", max_iterations, valid, "at least 1")
    if (verdict := check_collision(problem)) is not None:
        return verdict
    easier, upper, duals = levelled(problem), np.inf, []
    refinable, doubtful = may_be_refined(easier, max_iterations), None
    for found in _separating(easier, max_iterations):
        duals.append(found.dual)
        feasible = in_cone(found.dual * easier.column_scale, problem.support)
        bound = margin_bound(feasible, problem.embeddings, problem.support).margin
        upper = min(upper, bound)  # rigorous, as for any B in D
        for certificate in _certificates(easier, found):
            verdict = _proven(problem, certificate, upper)
            if verdict is not None and not (refinable and is_doubtful(verdict.verification)):
                return verdict
            doubtful = doubtful or verdict
    for dual in duals if refinable else ():
        b, rest = (part * easier.column_scale for part in refined(easier, dual))
        if (verdict := _proven(problem, FarkasMatrix(b, rest), upper)) is not None:
            return verdict
    if doubtful is not None:
        return doubtful
    reason = f"undecided: the max margin lies in [0, {upper:.3g}]"
    return Separability(None, None, None, reason, (0.0, upper))


def check_collision(problem: NTPProblem) -> Separability | None:
    """The verdict from two colliding embeddings or a zero one; None if there are none."""
    for certificate, reason in separability_collisions(problem):
        if (verdict := _proven(problem, certificate, np.inf, reason)) is not None:
            return verdict
    return None


def _separating(problem: MarginProblem, max_iterations: int | None) -> Iterator[MarginBracket]:
    """Decoders and dual matrices from every applicable method, the cheapest first."""
    first = _FIRST_ITERATIONS if max_iterations is None else max_iterations
    ascended = frobenius_bracket(problem, tolerance=np.inf, max_iterations=first)
    yield ascended
    factorised = full_rank_bracket(problem)
    if factorised is not None:
        yield factorised
    if max_iterations is None and active_set.is_small(problem):
        yield active_set.active_set_bracket(problem, ascended, tolerance=np.inf)
    if max_iterations is None:
        yield frobenius_bracket(
            problem, tolerance=np.inf, max_iterations=_MAX_ITERATIONS, start=ascended
        )
    if is_affordable(problem):
        yield max_norm_bracket(problem)


def _certificates(
    problem: MarginProblem, found: MarginBracket
) -> Iterator[SeparatingMatrix | FarkasMatrix]:
    if found.lower > 0:
        yield SeparatingMatrix(found.w)
    shown = farkas(problem, found.dual)
    if shown is not None:
        yield FarkasMatrix(shown * problem.column_scale)


def is_doubtful(verification: Verification | None) -> bool:
    """True for a decoder whose logits are so unequal that a Farkas matrix may refute it."""
    if verification is None or "spread" not in verification.numbers:
        return False
    return verification.measured > _DOUBTFUL


def may_be_refined(problem: MarginProblem, max_iterations: int | None) -> bool:
    """True if exact arithmetic can be asked about a problem of this size."""
    affordable = is_exactly_affordable(problem.embeddings, len(problem.support))
    return max_iterations is None and active_set.is_small(problem) and affordable


def _proven(
    problem: NTPProblem,
    certificate: SeparatingMatrix | FarkasMatrix,
    upper: float,
    reason: str | None = None,
) -> Separability | None:
    """The verdict of a certificate, None if it is not valid."""
    verification = verify_certificate(problem, certificate)
    if not verification.valid:
        return None
    if isinstance(certificate, FarkasMatrix):
        reason = reason or _crowding(problem, certificate.b, "no decoder separates")
        interval = (0.0, verification.numbers["margin_bound"])
        return Separability(False, certificate, verification, reason, interval)
    lower = verification.numbers["margin"] / float(np.linalg.norm(certificate.w))
    reason = (
        f"one decoder separates every context, with a margin of {lower:.3g} per unit of its norm"
    )
    if not is_doubtful(verification):
        reason += ": a proof; the max margin is at least that"
    else:
        reason += f", up to differences of {verification.measured:.0e} of it inside supports"
    return Separability(True, certificate, verification, reason, (lower, upper))


def check_compatibility(problem: NTPProblem) -> Compatibility:
    """Decide compatibility (Definition 1) by least squares.

    The least-squares solution W* either has the log ratios, or leaves a residual that no W can
    reduce. That residual is the certificate.

    Args:
        problem: its π does not matter.
    """
    check_problem(problem)
    support = problem.support
    ratios = centred(problem.log_probs, support)
    w = finite_component(problem)
    residual = ratios - centred(w @ problem.embeddings, support)
    size = float(np.linalg.norm(ratios))
    relative = float(np.linalg.norm(residual)) / size if size > 0 else 0.0
    solution = FiniteSolution(w)
    verification = verify_certificate(problem, solution)
    if verification.valid:
        reason = f"one decoder has all log ratios within {verification.measured:.1e} nats"
        return Compatibility(True, solution, verification, reason, relative)
    # the residual that is left on the face of the supports has no part that a decoder reaches
    unreached = FredholmMatrix(solve_on_face(problem.embeddings, residual, support).residual)
    for certificate, words in (*compatibility_collisions(problem), (unreached, None)):
        verification = verify_certificate(problem, certificate)
        if verification.valid:
            reason = words or _crowding(problem, certificate.b, "no decoder has the log ratios of")
            return Compatibility(False, certificate, verification, reason, relative)
    reason = f"undecided: the least-squares residual is {relative:.1e} of the log ratios"
    return Compatibility(None, None, None, reason, relative)


def _crowding(problem: NTPProblem, b: np.ndarray, claim: str) -> str:
    """Name the contexts in a certificate, and the supports they crowd into."""
    weight = np.abs(b).sum(axis=0) * column_lengths(problem.embeddings)
    contexts = np.flatnonzero(weight > 1e-9 * weight.max())
    heaviest = contexts[np.argsort(-weight[contexts], kind="stable")][:_NAMED]
    named = ", ".join(str(context) for context in sorted(heaviest))
    more = f" and {len(contexts) - _NAMED} more" if len(contexts) > _NAMED else ""
    reason = f"{claim} contexts {named}{more} together"
    crowd = _largest_crowd(problem.support[:, contexts], problem.dim)
    if crowd is None:
        return reason
    equations, unknowns = crowd
    return f"{reason}: their supports ask for {equations} log ratios of {unknowns} unknowns"


def _largest_crowd(support: Bool[np.ndarray, "V n"], dim: int) -> tuple[int, int] | None:
    """The equations Σ_j (S_j - 1) and unknowns d (|U| - 1) of the worst union U of supports.

    A union joins contexts whose supports overlap, directly or through others. None if no union has
    more equations than unknowns.
    """
    sizes = support.sum(axis=0)
    overlap = support.T.astype(int) @ support
    number, group = connected_components(overlap > 0, directed=False)
    crowds = []
    for member in range(number):
        union = int(support[:, group == member].any(axis=1).sum())
        crowds.append((int((sizes[group == member] - 1).sum()), dim * (union - 1)))
    worst = max(crowds, key=lambda crowd: crowd[0] - crowd[1])
    return worst if worst[0] > worst[1] else None
