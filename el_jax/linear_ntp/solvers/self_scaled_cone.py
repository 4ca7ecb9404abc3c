"""The cone K of non-negative numbers beside a positive semidefinite matrix, and its scalings.

For S and Z inside K a linear map of K onto itself takes S, and its transposed inverse takes Z, to
one point λ whose matrix is diagonal (Nesterov and Todd 1998, SIAM J. Optim. 8, "Primal-Dual
Interior-Point Methods for Self-Scaled Cones"). There S and Z are equally far from the boundary.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.linalg import eigvalsh

_TO_BOUNDARY = 0.98


class Point(NamedTuple):
    """Of the space of K: numbers ``[n]`` and a symmetric matrix ``[p, p]``."""

    numbers: Float64[np.ndarray, "n"]
    matrix: Float64[np.ndarray, "p p"]

    def jordan(self, other: "Point") -> "Point":
        """The symmetric product, (X Y + Y X) / 2 for matrices."""
        product = self.matrix @ other.matrix
        return Point(self.numbers * other.numbers, (product + product.T) / 2)

    def plus(self, other: "Point", factor: float = 1.0) -> "Point":
        """This plus ``factor`` times the other."""
        return Point(self.numbers + factor * other.numbers, self.matrix + factor * other.matrix)

    def dot(self, other: "Point") -> float:
        """⟨S, Z⟩."""
        return float(self.numbers @ other.numbers + np.sum(self.matrix * other.matrix))

    def ravel(self) -> Float64[np.ndarray, "coordinates"]:
        """Coordinates in which ``dot`` is the sum of products."""
        return np.concatenate([self.numbers, upper_triangle(self.matrix)])


class Scaling(NamedTuple):
    """A linear map of K onto itself, which divides numbers and takes a matrix S to R⁻¹ S R⁻ᵀ.

    Attributes:
        numbers: divisors.
        inverse: R⁻¹.
    """

    numbers: Float64[np.ndarray, "n"]
    inverse: Float64[np.ndarray, "p p"]

    def multiplier(self, scaled: Point) -> Point:
        """The Z that the transposed inverse takes to ``scaled``."""
        matrix = self.inverse.T @ scaled.matrix @ self.inverse
        return Point(scaled.numbers / self.numbers, (matrix + matrix.T) / 2)


class Diagonal(NamedTuple):
    """The point λ of K that a scaling takes both S and Z to: numbers, and a diagonal matrix."""

    numbers: Float64[np.ndarray, "n"]
    diagonal: Float64[np.ndarray, "p"]

    @property
    def level(self) -> float:
        """⟨S, Z⟩ = ⟨λ, λ⟩ over the degree of K."""
        squares = np.concatenate([self.numbers, self.diagonal]) ** 2
        return float(squares.mean())

    @property
    def point(self) -> Point:
        """λ with its whole matrix."""
        return Point(self.numbers, np.diag(self.diagonal))

    def divided(self, point: Point) -> Point:
        """The x of λ ∘ x = ``point``."""
        pairs = self.diagonal[:, None] + self.diagonal
        return Point(point.numbers / self.numbers, 2 * point.matrix / pairs)

    def reach(self, direction: Point) -> float:
        """The multiple of ``direction`` that leads .98 of the way from λ out of K, at most 1."""
        root = np.sqrt(self.diagonal)
        least = eigvalsh(direction.matrix / root / root[:, None])[0]
        worst = min(least, (direction.numbers / self.numbers).min())
        return float(min(1.0, _TO_BOUNDARY / max(-worst, 1e-300)))


def alike(slack: Point, multiplier: Point) -> tuple[Scaling, Diagonal]:
    """The scaling that takes S, and transposed and inverted Z, to one λ.

    Raises:
        LinAlgError: if S or Z is not inside K.
    """
    if not min(slack.numbers.min(), multiplier.numbers.min()) > 0:
        raise np.linalg.LinAlgError("a number is not positive")
    lower, dual_lower = np.linalg.cholesky(slack.matrix), np.linalg.cholesky(multiplier.matrix)
    left, diagonal, _ = np.linalg.svd(dual_lower.T @ lower)
    scaling = Scaling(
        np.sqrt(slack.numbers / multiplier.numbers), (dual_lower @ left / np.sqrt(diagonal)).T
    )
    return scaling, Diagonal(np.sqrt(slack.numbers * multiplier.numbers), diagonal)


def upper_triangle(
    matrices: Float64[np.ndarray, "*batch p p"],
) -> Float64[np.ndarray, "*batch triangle"]:
    """The upper triangle, off the diagonal times √2."""
    row, column = np.triu_indices(matrices.shape[-1])
    return matrices[..., row, column] * np.where(row == column, 1.0, np.sqrt(2))


def unravel(values: Float64[np.ndarray, "coordinates"], like: Point) -> Point:
    """The point with these coordinates, with numbers and a matrix as many as ``like`` has."""
    count, rows = len(like.numbers), len(like.matrix)
    row, column = np.triu_indices(rows)
    matrix = np.zeros((rows, rows))
    matrix[row, column] = values[count:] * np.where(row == column, 1.0, np.sqrt(0.5))
    matrix[column, row] = matrix[row, column]
    return Point(values[:count], matrix)
