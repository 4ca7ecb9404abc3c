"""The max-margin constraints inside F⊥, A w >= t, and the matrices in D from their multipliers.

Inside F⊥ the only constraint on a decoder is that the level of a context exceeds the logit of each
token outside its support by the margin t. The embeddings may have any coordinates in which they are
``[r, m]`` of full row rank; decoders w are ``[V, r]`` in the same coordinates.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int

from el_jax.linear_ntp.solvers.dual import in_cone
from el_jax.linear_ntp.solvers.scaling import MarginProblem
from el_jax.linear_ntp.theory.subspace import FaceFactor, face_contrasts, face_factor


class Constraints(NamedTuple):
    """A w >= t in coordinates of the span of the embeddings; see :func:`constraints_in`.

    Attributes:
        coordinates: the embeddings, ``[r, m]``.
        problem: the data.
        factor: the factorisation of F.
        tokens: the token outside the support in each constraint, ``[n]``.
        contexts: the context of each constraint, ``[n]``.
    """

    coordinates: Float64[np.ndarray, "r m"]
    problem: MarginProblem
    factor: FaceFactor
    tokens: Int[np.ndarray, "n"]
    contexts: Int[np.ndarray, "n"]

    def rows(self, chosen: Int[np.ndarray, "k"]) -> Float64[np.ndarray, "k Vr"]:
        """Chosen rows of A."""
        support, context = self.problem.support, self.contexts[chosen]
        contrast = (support / support.sum(axis=0)).T[context]
        contrast[np.arange(len(chosen)), self.tokens[chosen]] -= 1
        outer = contrast[:, :, None] * self.coordinates.T[context][:, None, :]
        rows = outer.reshape(len(chosen), -1)
        for _ in range(2):  # the second pass removes the rounding of the first
            rows = rows - (rows @ self.factor.left) @ self.factor.left.T
        return rows

    def slack(self, w: Float64[np.ndarray, "V r"]) -> Float64[np.ndarray, "n"]:
        """A w - t of all constraints."""
        support, logits = self.problem.support, w @ self.coordinates
        level = np.where(support, logits, 0.0).sum(axis=0) / support.sum(axis=0)
        return (level - logits - self.problem.margins)[self.tokens, self.contexts]

    def dual(
        self,
        chosen: Int[np.ndarray, "k"],
        alpha: Float64[np.ndarray, "k"],
        along: Float64[np.ndarray, "V r"] | None = None,
    ) -> Float64[np.ndarray, "V m"]:
        """The B in D with these multipliers, whose decoder B Hᵀ is Aᵀα, plus P_F of ``along``."""
        support = self.problem.support
        outside = np.zeros(support.shape)
        np.add.at(outside, (self.tokens[chosen], self.contexts[chosen]), alpha)
        dual = support * (outside.sum(axis=0) / support.sum(axis=0)) - outside
        contrasts, context = face_contrasts(support)
        for _ in range(2):
            left = dual @ self.coordinates.T - (0.0 if along is None else along)
            inside = self.factor.left.T @ left.ravel()
            weights = self.factor.right.T @ (inside / self.factor.spectrum)
            np.subtract.at(dual.T, context, (contrasts * weights).T)
        return in_cone(dual, support)


def constraints_in(coordinates: Float64[np.ndarray, "r m"], problem: MarginProblem) -> Constraints:
    """The constraints of a problem, in coordinates of its embeddings."""
    factor = face_factor(coordinates, problem.support)
    return Constraints(coordinates, problem, factor, *np.nonzero(~problem.support))
