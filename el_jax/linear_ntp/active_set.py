"""The max-margin problem in the Frobenius norm where embeddings are nearly dependent.

Inside F⊥ a decoder is asked only that the level of a context exceed the logit of each token outside
its support: A w >= t, of which the w of least norm is wanted. With α >= 0 that is

    min ‖Aᵀα‖² + (1 - g tᵀα)²,     w ∝ Aᵀα,

a non-negative least-squares problem for any g > 0. An active set solves it in finitely many steps,
each a least-squares problem solved by orthogonal factors: neither near-duplicates nor a common mean
slow it, as they do ascent. Where no w exists the minimum is 0 and α makes a Farkas matrix.

Lawson and Hanson 1974, "Solving Least Squares Problems", chapter 23 (LDP and NNLS).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int
from scipy.linalg import qr, solve_triangular
from scipy.optimize import nnls

from el_jax.linear_ntp.dual import MarginBracket, bracket, in_cone, tighter
from el_jax.linear_ntp.faces import equalised
from el_jax.linear_ntp.frobenius import farkas, is_solved
from el_jax.linear_ntp.scaling import MarginProblem
from el_jax.linear_ntp.subspace import FaceFactor, face_contrasts, face_factor, is_dense

_MAX_ROWS = 1500
_MAX_CONSTRAINTS = 1000  # looked at from the beginning, and added when violated
_RESCALINGS = 8
_NEAR = 10.0  # ratio of g and the margin up to which no digits are lost
_VIOLATED = 1e-11


class _Constraints(NamedTuple):
    """A w >= t in coordinates of the span of the embeddings.

    Attributes:
        coordinates: of the embeddings, ``[r, m]``.
        problem: the data.
        factor: of F.
        tokens: outside the support, of each constraint, ``[n]``.
        contexts: likewise.
    """

    coordinates: Float64[np.ndarray, "r m"]
    problem: MarginProblem
    factor: FaceFactor
    tokens: Int[np.ndarray, "n"]
    contexts: Int[np.ndarray, "n"]

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        """Chosen rows of A, ``[chosen, V r]``."""
        support, context = self.problem.support, self.contexts[chosen]
        contrast = (support / support.sum(axis=0)).T[context]
        contrast[np.arange(len(chosen)), self.tokens[chosen]] -= 1
        outer = contrast[:, :, None] * self.coordinates.T[context][:, None, :]
        rows = outer.reshape(len(chosen), -1)
        for _ in range(2):  # the second takes out what rounding left of the first
            rows = rows - (rows @ self.factor.left) @ self.factor.left.T
        return rows

    def slack(self, w: np.ndarray) -> np.ndarray:
        """A w - t of all, ``[n]``."""
        support, logits = self.problem.support, w @ self.coordinates
        level = np.where(support, logits, 0.0).sum(axis=0) / support.sum(axis=0)
        return (level - logits - self.problem.margins)[self.tokens, self.contexts]

    def dual(self, chosen: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """The B of D with these multipliers whose decoder B Hᵀ is Aᵀα."""
        support = self.problem.support
        outside = np.zeros(support.shape)
        np.add.at(outside, (self.tokens[chosen], self.contexts[chosen]), alpha)
        dual = support * (outside.sum(axis=0) / support.sum(axis=0)) - outside
        contrasts, context = face_contrasts(support)
        for _ in range(2):
            inside = self.factor.left.T @ (dual @ self.coordinates.T).ravel()
            weights = self.factor.right.T @ (inside / self.factor.spectrum)
            np.subtract.at(dual.T, context, (contrasts * weights).T)
        return in_cone(dual, support)


def is_small(problem: MarginProblem) -> bool:
    """Whether least squares of V rank H rows are affordable."""
    rows = len(problem.support) * min(problem.embeddings.shape)
    return rows <= _MAX_ROWS and is_dense(problem.embeddings, problem.support)


def active_set_bracket(
    problem: MarginProblem, start: MarginBracket, *, tolerance: float
) -> MarginBracket:
    """Solves for g nearer and nearer to the margin, or finds a Farkas matrix.

    Args:
        problem: the data.
        start: what is known already.
        tolerance: on the relative gap; infinity stops at the first decoder that separates.
    """
    basis, coordinates = np.linalg.qr(problem.embeddings)
    factor = face_factor(coordinates, problem.support)
    these = _Constraints(coordinates, problem, factor, *np.nonzero(~problem.support))
    chosen, best, guess = _likely(these, start), start, start.upper
    for _ in range(_RESCALINGS):
        chosen, alpha = _multipliers(these, chosen, guess)
        if alpha is None:
            break
        found = None
        for w, weights in _solutions(these, chosen, alpha):
            w, dual = equalised(problem, w @ basis.T), these.dual(chosen, weights)
            found = tighter(found, bracket(problem, w, dual, "frobenius", start.iterations))
        assert found is not None
        best, before = tighter(best, found), guess
        if is_solved(problem, best, tolerance):
            break
        if best.lower == 0 and (shown := farkas(problem, found.dual)) is not None:
            return bracket(problem, best.w, shown, "frobenius", start.iterations)
        guess = np.sqrt(found.lower * found.upper) if found.lower > 0 else found.upper
        if not 0 < guess < before / _NEAR:
            break
    return best


def _likely(these: _Constraints, start: MarginBracket) -> np.ndarray:
    """The constraints that ``start`` has the largest multipliers for, then others."""
    weight = start.dual[these.tokens, these.contexts]
    return np.argsort(weight, kind="stable")[:_MAX_CONSTRAINTS]


def _multipliers(
    these: _Constraints, chosen: np.ndarray, guess: float
) -> tuple[np.ndarray, np.ndarray | None]:
    """α of chosen constraints, to which violated ones are added until there are none."""
    while True:
        rows = these.rows(chosen)
        margins = guess * these.problem.margins[these.contexts[chosen]]
        stacked, wanted = np.vstack([rows.T, margins]), np.zeros(rows.shape[1] + 1)
        wanted[-1] = 1.0
        try:
            alpha, _ = nnls(stacked, wanted, maxiter=10 * len(chosen))
        except RuntimeError:  # it cycles in the last digits
            return chosen, None
        w, rest = rows.T @ alpha, 1 - margins @ alpha
        if rest <= 0:  # the minimum is 0: no decoder satisfies even these
            return chosen, alpha
        slack = these.slack((w * guess / rest).reshape(-1, len(these.coordinates)))
        slack[chosen] = 0.0
        violated = np.argsort(slack)[:_MAX_CONSTRAINTS]
        violated = violated[slack[violated] < -_VIOLATED]
        if len(violated) == 0:
            return chosen, alpha
        chosen = np.concatenate([chosen, violated])


def _solutions(
    these: _Constraints, chosen: np.ndarray, alpha: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """W and multipliers as they are, and with the equations of the active set solved anew."""
    shape = -1, len(these.coordinates)
    rows, active = these.rows(chosen), np.flatnonzero(alpha)
    found = [((rows.T @ alpha).reshape(shape), alpha)]
    if len(active) <= rows.shape[1]:
        basis, factor = qr(rows[active].T, mode="economic")
        if np.diag(factor).all():
            weights = solve_triangular(
                factor, these.problem.margins[these.contexts[chosen[active]]], trans="T"
            )
            exact = np.zeros(len(alpha))
            exact[active] = np.maximum(solve_triangular(factor, weights), 0)
            found.append(((basis @ weights).reshape(shape), exact))
    return found
