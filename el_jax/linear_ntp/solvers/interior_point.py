"""The max-margin problem in the spectral norm, by a primal-dual interior-point method.

min s such that A w >= t inside F⊥, and [[s I, W], [Wᵀ, s I]] is positive semidefinite. The slacks
S of both lie in K, numbers >= 0 beside a positive semidefinite matrix, and so do the multipliers Z.
A Newton step is scaled by the point at which S and Z look alike, and solved by orthogonal factors.
Its course is the same after any linear map of the embeddings: neither a common mean nor
near-duplicates slow it. A step costs about (V r)² (V + r)² for rank r.

Nesterov and Todd 1998, SIAM J. Optim. 8, "Primal-Dual Interior-Point Methods for Self-Scaled
Cones"; Mehrotra 1992, SIAM J. Optim. 2, for predictor and corrector.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.linalg import qr, solve_triangular

from el_jax.linear_ntp.solvers.constraints import Constraints, constraints_in
from el_jax.linear_ntp.solvers.dual import MarginBracket, bracket, least_margin, tighter
from el_jax.linear_ntp.solvers.faces import equalised
from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.linear_ntp.solvers.self_scaled_cone import (
    Point,
    Scaling,
    alike,
    unravel,
    upper_triangle,
)
from el_jax.linear_ntp.theory.subspace import is_dense

_MAX_WORK, _MAX_SIZE = 3e9, 2e7  # multiplications of a step; numbers of its matrix
_MAX_STEPS, _STALLED = 80, 5  # steps in all; steps on which the bracket does not narrow
_LOOKED_AT = 1e-2  # relative distance of primal and dual values below which brackets are made
_CHANGED = 0.1  # by what part multipliers may change when they are balanced


class _Program(NamedTuple):
    """min s over x and s, with the slacks A x - t and [[s I, M(x)], [M(x)ᵀ, s I]].

    Attributes:
        these: the constraints, in coordinates of orthonormal rows.
        basis: of F⊥ in those, the M of whose elements are near orthonormal, ``[V r, n]``.
        rows: A, ``[constraints, n]``.
        spectrum: what M divides columns by, ``[r]``.
    """

    these: Constraints
    basis: Float64[np.ndarray, "Vr n"]
    rows: Float64[np.ndarray, "constraints n"]
    spectrum: Float64[np.ndarray, "r"]

    def decoder(self, x: Float64[np.ndarray, "n"]) -> Float64[np.ndarray, "V r"]:
        """M(x), whose singular values are those of W over a unit."""
        return (self.basis @ x).reshape(-1, len(self.spectrum)) / self.spectrum

    def slack(self, x: Float64[np.ndarray, "n"], size: float) -> Point:
        """S."""
        w = self.decoder(x)
        bordered = [[size * np.eye(len(w)), w], [w.T, size * np.eye(w.shape[1])]]
        margins = self.these.problem.margins[self.these.contexts]
        return Point(self.rows @ x - margins, np.block(bordered))

    def columns(self, scaling: Scaling) -> Float64[np.ndarray, "coordinates unknowns"]:
        """The slack of each coordinate of x, and of s, scaled."""
        vocab_size = len(self.these.problem.support)
        token, dim = scaling.inverse[:, :vocab_size], scaling.inverse[:, vocab_size:]
        maps = self.basis.T.reshape(-1, vocab_size, len(self.spectrum)) / self.spectrum
        half = token @ maps @ dim.T
        matrices = np.concatenate(
            [half + half.transpose(0, 2, 1), (scaling.inverse @ scaling.inverse.T)[None]]
        )
        numbers = np.pad(self.rows / scaling.numbers[:, None], ((0, 0), (0, 1)))
        return np.concatenate([numbers, upper_triangle(matrices).T])

    def missing(self, multiplier: Point) -> Float64[np.ndarray, "unknowns"]:
        """The objective less its balance by Z, in each coordinate of x and in s."""
        vocab_size = len(self.these.problem.support)
        along = 2 * multiplier.matrix[:vocab_size, vocab_size:] / self.spectrum
        balance = self.rows.T @ multiplier.numbers + self.basis.T @ along.ravel()
        return np.append(-balance, 1 - np.trace(multiplier.matrix))

    def dual(self, multiplier: Point) -> Float64[np.ndarray, "V m"]:
        """The B of D that Z makes."""
        vocab_size = len(self.these.problem.support)
        along = -2 * multiplier.matrix[:vocab_size, vocab_size:] / self.spectrum
        return self.these.dual(np.arange(len(multiplier.numbers)), multiplier.numbers, along)


def is_small(problem: MarginProblem) -> bool:
    """True if least squares of V rank H columns and (V + rank H)² / 2 rows are affordable."""
    vocab_size, rank = len(problem.support), min(problem.embeddings.shape)
    columns, rows = vocab_size * rank, (vocab_size + rank) ** 2 / 2 + problem.support.size
    affordable = rows * columns <= _MAX_SIZE and rows * columns**2 <= _MAX_WORK
    return affordable and is_dense(problem.embeddings, problem.support)


def interior_bracket(
    problem: MarginProblem, start: MarginBracket, *, tolerance: float
) -> MarginBracket:
    """Iterates until the relative gap is ``tolerance``, or rounding keeps it from narrowing.

    Args:
        problem: the data.
        start: for the spectral norm, with a decoder that separates.
        tolerance: on the relative gap.
    """
    left, spectrum, right = np.linalg.svd(problem.embeddings, full_matrices=False)
    rank = int((spectrum > np.finfo(float).eps * max(problem.embeddings.shape) * spectrum[0]).sum())
    left, spectrum, right = left[:, :rank], spectrum[:rank], right[:rank]
    w = start.w / least_margin(problem, start.w)
    unit = np.linalg.norm(w, 2)
    program = _program(constraints_in(right, problem), spectrum * unit)
    x = np.linalg.lstsq(program.basis, (w @ left * spectrum).ravel())[0]
    best, since = start, 0
    for solution, multiplier in _path(program, x):
        w = equalised(problem, unit * program.decoder(solution) @ left.T)
        found = bracket(problem, w, program.dual(multiplier), "spectral", start.iterations)
        before, best = best.gap, tighter(best, found)
        since = 0 if best.gap < 0.9 * before else since + 1
        if best.gap <= tolerance or since >= _STALLED:
            break
    return best


def _program(these: Constraints, spectrum: Float64[np.ndarray, "r"]) -> _Program:
    """The program, without the parts of W that all tokens share: those change no constraint."""
    vocab_size, face = len(these.problem.support), these.factor.left
    shared = np.kron(np.ones((vocab_size, 1)), np.eye(len(spectrum))) / np.sqrt(vocab_size)
    fixed = np.hstack([face, shared])  # orthonormal, as elements of F have columns of sum 0
    free = np.linalg.qr(fixed, mode="complete")[0][:, fixed.shape[1] :]
    scale = np.tile(spectrum, vocab_size)[:, None]
    basis = np.linalg.qr(free / scale)[0] * scale
    for _ in range(2):  # what rounding left of the rest
        basis = basis - fixed @ (fixed.T @ basis)
    return _Program(these, basis, these.rows(np.arange(len(these.tokens))) @ basis, spectrum)


def _path(
    program: _Program, x: Float64[np.ndarray, "n"]
) -> Iterator[tuple[Float64[np.ndarray, "n"], Point]]:
    """The iterates x and Z, until rounding takes S or Z out of K.

    Args:
        program: what is solved.
        x: where to begin, a multiple of an x with positive slacks.
    """
    margins = program.these.problem.margins[program.these.contexts]
    least = (program.rows @ x / margins).min()
    if not least > 0:  # rounding has taken all of the margin
        return
    x = x * (2 / least)
    size = 2 * float(np.linalg.norm(program.decoder(x), 2))
    slack = program.slack(x, size)
    inverse = np.linalg.inv(slack.matrix)
    multiplier = Point(1 / slack.numbers / np.trace(inverse), inverse / np.trace(inverse))
    for _ in range(_MAX_STEPS):
        try:
            change, multiplier = _step(program, slack, multiplier)
        except np.linalg.LinAlgError:
            return
        x, size = x + change[:-1], size + change[-1]
        slack = program.slack(x, size)
        if slack.dot(multiplier) <= _LOOKED_AT * size:
            yield x, multiplier


def _step(
    program: _Program, slack: Point, multiplier: Point
) -> tuple[Float64[np.ndarray, "unknowns"], Point]:
    """The change of (x, s), and the next Z: predictor, then corrector.

    Raises:
        LinAlgError: if S or Z is not inside K.
    """
    scaling, here = alike(slack, multiplier)
    columns = program.columns(scaling)
    q, r = qr(columns, mode="economic")
    missing = solve_triangular(r, program.missing(multiplier), trans="T")

    def direction(target: Point) -> tuple[np.ndarray, Point, Point]:
        wanted = here.divided(target)
        change = solve_triangular(r, q.T @ wanted.ravel() - missing)
        primal = unravel(columns @ change, slack)
        return change, primal, wanted.plus(primal, -1.0)

    nothing = Point(np.zeros_like(slack.numbers), np.zeros_like(slack.matrix))
    downward = nothing.plus(here.point.jordan(here.point), -1.0)
    _, primal, dual = direction(downward)
    predicted = here.point.plus(primal, here.reach(primal))
    level = predicted.dot(here.point.plus(dual, here.reach(dual)))
    centring = min(1.0, max(level / here.point.dot(here.point), 0.0)) ** 3
    one = Point(np.ones_like(slack.numbers), np.eye(len(slack.matrix)))
    corrected = downward.plus(primal.jordan(dual), -1.0).plus(one, centring * here.level)
    change, primal, dual = direction(corrected)
    multiplier = multiplier.plus(scaling.multiplier(dual), here.reach(dual))
    return here.reach(primal) * change, _balanced(program, multiplier)


def _balanced(program: _Program, multiplier: Point) -> Point:
    """Z changed, relative to itself, such that it balances the objective as nearly as it can.

    Rounding in the scaled equations is what keeps it from balancing, and embeddings with a common
    mean multiply what is missing. Combinations of coordinates whose balance would change Z by more
    than a small part are left: nothing binds there.

    Raises:
        LinAlgError: if Z is not inside K.
    """
    lower = np.linalg.cholesky(multiplier.matrix)
    itself = Scaling(1 / multiplier.numbers, lower.T)
    left, spectrum, right = np.linalg.svd(program.columns(itself), full_matrices=False)
    missing = right @ program.missing(multiplier)
    kept = np.abs(missing) < _CHANGED * spectrum
    change = unravel(left[:, kept] @ (missing[kept] / spectrum[kept]), multiplier)
    matrix = lower @ change.matrix @ lower.T
    return multiplier.plus(Point(multiplier.numbers * change.numbers, (matrix + matrix.T) / 2))
