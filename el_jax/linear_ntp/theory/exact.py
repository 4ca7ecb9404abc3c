"""Exact sums and products of float64 matrices, in rational arithmetic: slow, and for few numbers.

A Farkas matrix that weighs near-duplicates against each other has entries larger than the bound it
proves, the more so the nearer they are; rounding to float64 may destroy the proof. Such a matrix is
stored as a sum of two.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

_MAX_PRODUCTS = 50_000  # about a second


class ExactCombination(NamedTuple):
    """Quantities of B = ``b + rest`` that vanish for a Farkas matrix, each rounded once.

    Attributes:
        product: B Hᵀ, ``[V, d]``.
        sums: column sums of B, ``[m]``.
    """

    product: Float64[np.ndarray, "V d"]
    sums: Float64[np.ndarray, "m"]


def is_exactly_affordable(embeddings: Float64[np.ndarray, "d m"], vocab_size: int) -> bool:
    """True if B Hᵀ has few enough products."""
    return vocab_size * embeddings.size <= _MAX_PRODUCTS


def exact_combination(
    b: Float64[np.ndarray, "V m"],
    rest: Float64[np.ndarray, "V m"],
    embeddings: Float64[np.ndarray, "d m"],
) -> ExactCombination:
    """B Hᵀ and column sums of ``b + rest``."""
    whole = _rational(b) + _rational(rest)
    product, sums = whole @ _rational(embeddings.T), whole.sum(axis=0)
    return ExactCombination(product.astype(np.float64), sums.astype(np.float64))


_rational = np.vectorize(Fraction, otypes=[object])
