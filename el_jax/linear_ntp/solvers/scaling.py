"""The max-margin problem rescaled to embeddings of comparable length.

Separability does not depend on the length of an embedding, and scaling all of them only scales the
max margin. Solvers therefore get embeddings within a factor of 4 of each other, the longest between
1/2 and 1, and the margin required at each. Lengths change by powers of 2, without rounding, so a
certificate of one problem is a certificate of the other.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float64

from el_jax.linear_ntp.problems.problem import NTPProblem, column_lengths
from el_jax.linear_ntp.theory.subspace import decomposed, face_factor

_LARGEST_EXPONENT = 1000


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """Embeddings of comparable length, and the margin required at each.

    Attributes:
        embeddings: Ĥ = H diag(s), ``[d, m]``.
        support: S, ``[V, m]``.
        margins: the least excess of logits on a context's support over those off it, up to a common
            factor; the largest is 1, ``[m]``.
        column_scale: s over its largest entry. B Ĥᵀ is the B diag(s) Hᵀ of the data, ``[m]``.
        unit: the largest s: the ratio of the margins here to those of the data.
    """

    embeddings: Float64[np.ndarray, "d m"]
    support: Bool[np.ndarray, "V m"]
    margins: Float64[np.ndarray, "m"]
    column_scale: Float64[np.ndarray, "m"]
    unit: float

    @cached_property
    def gram_factors(self) -> tuple[Float64[np.ndarray, "m _"], ...]:
        """Matrices whose product is Ĥᵀ Ĥ: itself, or Ĥᵀ and Ĥ where two thin products are less."""
        dim, contexts = self.embeddings.shape
        thin = self.embeddings.T, self.embeddings
        return thin if 2 * dim < contexts else (thin[0] @ thin[1],)

    @cached_property
    def condition(self) -> float:
        """The largest singular value of Ĥ over the least that is not 0."""
        _, spectrum, _ = decomposed(self.embeddings)
        return float(spectrum[0] / spectrum[-1])

    @cached_property
    def face_basis(self) -> Float64[np.ndarray, "Vd dim"]:
        """An orthonormal basis of F."""
        return face_factor(self.embeddings, self.support).left

    @cached_property
    def target(self) -> Float64[np.ndarray, "V m"]:
        """Logits when every constraint binds: 0 on the support, minus the margin off it."""
        return np.where(self.support, 0.0, -self.margins)


def scaled(problem: NTPProblem) -> MarginProblem:
    """The max-margin problem of the data: solutions differ by a positive factor."""
    lengths = column_lengths(problem.embeddings)
    lengths = np.where(lengths > 0, lengths, lengths.max())
    _, exponent = np.frexp(lengths.max())
    shorter = np.floor((np.log2(lengths.max()) - np.log2(lengths)) / 2).astype(int)
    powers = np.minimum(2 * shorter - int(exponent), _LARGEST_EXPONENT)
    relative = np.ldexp(1.0, powers - powers.max())
    return MarginProblem(
        embeddings=np.ldexp(problem.embeddings, powers),
        support=problem.support,
        margins=relative,
        column_scale=relative,
        unit=float(np.ldexp(1.0, int(powers.max()))),
    )


def levelled(problem: NTPProblem) -> MarginProblem:
    """A problem solvable whenever that of the data is: one margin, embeddings of one length.

    Easier if lengths differ much; its solution separates the data, but not by the largest margin.
    """
    alike = scaled(problem)
    return replace(alike, margins=np.ones_like(alike.margins))
