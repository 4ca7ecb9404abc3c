"""Verdicts and max margins of data that are hard in float64, compared with exact arithmetic.

An outcome is right if separability is that of rational arithmetic; separable data have a solution
and inseparable data have none, in every norm; each certificate is valid in rational arithmetic; and
the margin is known within 1e-6. Nothing may be undecided. Near-duplicates are 1e-6 to 1e-3 apart:
nearer ones may be undecided. Where nearer ones are inseparable, a decoder may have a spread below
1e-6 of its margin, and it then counts as one that separates.
"""

import warnings
from fractions import Fraction

import numpy as np
import pytest

from el_jax.linear_ntp import NotSeparableError, NTPProblem, check_separability, max_margin
from tests.linear_ntp.exact_oracle import exact_logits, is_separable

NORMS = ("frobenius", "max", "spectral")
SOLVED, REFUSED = "solved", "refused"
CONTEXTS, DIM, TOKENS = 5, 4, 5
GAP = 1e-6


def _supports(rng, sizes):
    support = np.zeros((TOKENS, CONTEXTS), bool)
    for context in range(CONTEXTS):
        support[rng.choice(TOKENS, rng.choice(sizes), replace=False), context] = True
    return support


def _gaussian(rng):
    return rng.standard_normal((DIM, CONTEXTS)), _supports(rng, [1, 2, 3])


def _one_token(rng):
    return rng.standard_normal((DIM, CONTEXTS)), _supports(rng, [1])


def _integer(rng):
    return rng.integers(-3, 4, (DIM, CONTEXTS)), _supports(rng, [1, 2, 3, 5])


def _rank_deficient(rng):
    embeddings = rng.integers(-2, 3, (DIM, 3)) @ rng.integers(-2, 3, (3, CONTEXTS))
    return embeddings, _supports(rng, [1, 1, 2])


def _near_threshold(rng):
    embeddings = rng.standard_normal((DIM, CONTEXTS))
    embeddings[3:] = 0
    return embeddings, _supports(rng, [1, 2])


def _near_duplicates(rng):
    embeddings, support = _gaussian(rng)
    apart = 10.0 ** rng.uniform(-6, -3)
    embeddings[:, 1] = embeddings[:, 0] + apart * rng.standard_normal(DIM)
    if rng.random() < 0.5:
        support[:, 1] = support[:, 0]
    return embeddings, support


def _common_mean(rng):
    embeddings, support = _gaussian(rng)
    mean = 10.0 ** rng.uniform(1, 5)
    return embeddings + mean * rng.standard_normal((DIM, 1)), support


def _mixed_lengths(rng):
    embeddings, support = _gaussian(rng)
    return embeddings * 10.0 ** rng.uniform(-2, 2, CONTEXTS), support


def _scaled(rng):
    embeddings, support = _gaussian(rng)
    return embeddings * 10.0 ** rng.uniform(-30, 30), support


FAMILIES = {
    "Gaussian": _gaussian,
    "one token": _one_token,
    "integers": _integer,
    "rank deficient": _rank_deficient,
    "near threshold": _near_threshold,
    "near-duplicates": _near_duplicates,
    "common mean": _common_mean,
    "mixed lengths": _mixed_lengths,
    "scaled": _scaled,
}


def _problem(family, seed):
    embeddings, support = FAMILIES[family](np.random.default_rng([seed, len(family)]))
    if support.all():
        support[0, 0] = False
    probs = support / support.sum(axis=0)
    return NTPProblem(embeddings, np.full(CONTEXTS, 1 / CONTEXTS), probs)


def _exact(matrix):
    return [[Fraction(number) for number in row] for row in np.asarray(matrix).tolist()]


def _product(left, right):
    columns = list(zip(*right, strict=True))
    return [
        [sum((a * b for a, b in zip(row, c, strict=True)), Fraction(0)) for c in columns]
        for row in left
    ]


def separates(problem, w):
    """True if the spread of W, at embeddings of length 1, is at most 1e-6 of its margin."""
    spreads, margins = [], []
    lengths = np.linalg.norm(problem.embeddings, axis=0)
    for (inside, outside), length in zip(exact_logits(problem, w), lengths, strict=True):
        if length == 0:
            continue
        spreads.append((max(inside) - min(inside)) / Fraction(float(length)))
        if outside:
            margins.append((min(inside) - max(outside)) / Fraction(float(length)))
    return min(margins) > 0 and max(spreads) <= min(margins) / 10**6


def contradicts(problem, certificate):
    """True if B is in D, up to rounding of column sums, and B Hᵀ is at most 1e-9 of its terms."""
    b, whole = certificate.b, _exact(certificate.b)
    if certificate.rest is not None:
        b, pairs = b + certificate.rest, zip(whole, _exact(certificate.rest), strict=True)
        whole = [[x + y for x, y in zip(*rows, strict=True)] for rows in pairs]
    outside = -np.where(problem.support, 0.0, b)
    lengths = np.linalg.norm(problem.embeddings, axis=0)
    combined = _product(whole, _exact(problem.embeddings.T))
    size = float(max(abs(entry) for row in combined for entry in row))
    sums = np.abs([float(sum(column)) for column in zip(*whole, strict=True)]) * lengths
    weight = float(outside.sum(axis=0) @ lengths)
    in_cone = outside.min() >= 0 and sums.max() <= 1e-9 * weight
    return in_cone and outside.sum() > 0 and size <= 1e-9 * weight


def _outcome(problem, norm, truth):
    verdict = check_separability(problem)
    if verdict.holds is not truth:
        return f"verdict {verdict.holds}"
    certificate = verdict.certificate
    if not (separates(problem, certificate.w) if truth else contradicts(problem, certificate)):
        return "certificate of the verdict proves nothing"
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = max_margin(problem, norm, tolerance=GAP)
    except NotSeparableError as error:
        if truth:
            return "separable data refused"
        return REFUSED if contradicts(problem, error.certificate) else "refused without proof"
    if not truth:
        return "a solution of inseparable data"
    if not separates(problem, found.w):
        return "a solution that does not separate"
    if abs(found.gap) <= GAP:
        return SOLVED
    said = [str(warning.message) for warning in told]
    return f"gap {found.gap:.1e}, told {said}"


def outcome_of(family, norm, number):
    problem = _problem(family, number)
    return _outcome(problem, norm, is_separable(problem))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_hard_problem_is_judged_as_rational_arithmetic_does(family, norm):
    for number in range(3):
        assert outcome_of(family, norm, number) in (SOLVED, REFUSED), number


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_thirty_hard_problems_are_judged_as_rational_arithmetic_does(family, norm):
    for number in range(3, 30):
        assert outcome_of(family, norm, number) in (SOLVED, REFUSED), number
