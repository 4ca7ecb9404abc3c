"""The order in which solvers are tried: for a proof of separability, and for a max margin.

A solver takes the problem in numbers of one size and gives a bracket: a decoder W, a matrix B of D,
and what they prove. The first that proves enough ends the cascade, and none knows of another.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from el_jax.linear_ntp.problems.problem import NTPProblem
from el_jax.linear_ntp.solvers import active_set, cone_program
from el_jax.linear_ntp.solvers.dual import (
    MarginBracket,
    bracket,
    in_cone,
    shows_inseparable,
    tighter,
)
from el_jax.linear_ntp.solvers.faces import refined
from el_jax.linear_ntp.solvers.frobenius import farkas, frobenius_bracket, is_solved
from el_jax.linear_ntp.solvers.full_rank import full_rank_bracket
from el_jax.linear_ntp.solvers.max_norm import is_affordable, max_norm_bracket
from el_jax.linear_ntp.solvers.scaling import MarginProblem, levelled
from el_jax.linear_ntp.solvers.splitting import split_bracket
from el_jax.linear_ntp.theory.certificates import (
    FarkasMatrix,
    SeparatingMatrix,
    Verification,
    verify_certificate,
)
from el_jax.linear_ntp.theory.collisions import separability_collision
from el_jax.linear_ntp.theory.exact import is_exactly_affordable
from el_jax.linear_ntp.theory.norms import Norm

# Of the ascent, before other methods are tried and in all: for a proof, and for a margin.
_FIRST_ITERATIONS, _MAX_ITERATIONS = 300, 20_000
_PATIENCE, _MAX_ASCENT = 3_000, 100_000
_MAX_SPLITTING = 10_000
_COARSE = 1e-3  # gap above which splitting is helped by the solution for the Frobenius norm


class Proof(NamedTuple):
    """The outcome of a search for a proof of separability, or of its opposite.

    Attributes:
        certificate: verified; None when undecided.
        verification: of the certificate.
        upper: bound on the max Frobenius margin.
        collision: which embeddings collide, in words; None where others gave the certificate.
    """

    certificate: SeparatingMatrix | FarkasMatrix | None
    verification: Verification | None
    upper: float
    collision: str | None


def prove(problem: NTPProblem, max_iterations: int | None = None) -> Proof:
    """The first certificate found that shows the data to be separable, or not to be.

    Args:
        problem: its probabilities do not matter, only their support.
        max_iterations: of the ascent; None means 20 000, an active set, and rational arithmetic.
    """
    collision = prove_by_collision(problem)
    if collision is not None:
        return collision
    easier, upper, duals = levelled(problem), np.inf, []
    for found in _separating(easier, max_iterations):
        upper = min(upper, _frobenius_bound(problem, easier, found))
        for certificate in _certificates(easier, found):
            verification = verify_certificate(problem, certificate)
            if verification.valid:
                return Proof(certificate, verification, upper, None)
        duals.append(found.dual)
    for dual in duals if _may_be_refined(easier, max_iterations) else ():
        exact = FarkasMatrix(*map(easier.dual_of_data, refined(easier, dual)))
        verification = verify_certificate(problem, exact)
        if verification.valid:
            return Proof(exact, verification, upper, None)
    return Proof(None, None, upper, None)


def prove_by_collision(problem: NTPProblem) -> Proof | None:
    """The certificate that two embeddings, or one of zeros, give, if there are such."""
    collision = separability_collision(problem)
    if collision is None:
        return None
    verification = verify_certificate(problem, collision.certificate)
    if not verification.valid:
        return None
    upper = verification.numbers["margin_bound"]
    return Proof(collision.certificate, verification, upper, collision.reason)


def _separating(problem: MarginProblem, max_iterations: int | None) -> Iterator[MarginBracket]:
    """Every decoder and dual matrix there is a method for, the cheapest first."""
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
        yield FarkasMatrix(problem.dual_of_data(shown))


def _frobenius_bound(problem: NTPProblem, easier: MarginProblem, found: MarginBracket) -> float:
    """The rigorous bound on γ of any B in D."""
    dual = in_cone(easier.dual_of_data(found.dual), problem.support)
    return verify_certificate(problem, FarkasMatrix(dual)).numbers["margin_bound"]


def _may_be_refined(problem: MarginProblem, max_iterations: int | None) -> bool:
    affordable = is_exactly_affordable(problem.embeddings, len(problem.support))
    return max_iterations is None and active_set.is_small(problem) and affordable


def _frobenius(
    problem: MarginProblem, tolerance: float, max_iterations: int | None
) -> MarginBracket:
    first = _PATIENCE if max_iterations is None else max_iterations
    found = frobenius_bracket(problem, tolerance=tolerance, max_iterations=first)
    settled = is_solved(problem, found, tolerance) or shows_inseparable(problem, found.dual)
    if max_iterations is not None or settled:
        return found
    if active_set.is_small(problem):
        exact = active_set.active_set_bracket(problem, found, tolerance=tolerance)
        if exact is not found:
            return exact
    return frobenius_bracket(problem, tolerance=tolerance, max_iterations=_MAX_ASCENT, start=found)


def _max(problem: MarginProblem, tolerance: float, max_iterations: int | None) -> MarginBracket:
    if is_affordable(problem):
        return max_norm_bracket(problem)
    return _split(problem, "max", tolerance, max_iterations)


def _spectral(
    problem: MarginProblem, tolerance: float, max_iterations: int | None
) -> MarginBracket:
    if max_iterations is not None or not cone_program.is_small(problem):
        return _split(problem, "spectral", tolerance, max_iterations)
    found = cone_program.cone_bracket(problem, tolerance)
    if found.gap <= tolerance or shows_inseparable(problem, found.dual):
        return found
    return tighter(found, _split(problem, "spectral", tolerance, None))


def _split(
    problem: MarginProblem, norm: Norm, tolerance: float, max_iterations: int | None
) -> MarginBracket:
    # all norms agree on what is separable, and the Frobenius norm is quick to tell
    first = _frobenius(problem, np.inf, None)
    if first.lower == 0:
        return first
    steps = max_iterations or _MAX_SPLITTING
    found = split_bracket(problem, norm, tolerance=tolerance, max_iterations=steps, start=first)
    if found.gap <= max(tolerance, _COARSE):
        return found
    exact = _frobenius(problem, _COARSE, None)  # no worse than the root of the rank apart
    return tighter(found, bracket(problem, exact.w, exact.dual, norm, found.iterations))


Solver = Callable[[MarginProblem, float, int | None], MarginBracket]
# Each takes the gap to reach and how many iterations it may make; with None it may try others.
SOLVERS: dict[Norm, Solver] = {"frobenius": _frobenius, "max": _max, "spectral": _spectral}
