"""The least embedding dimension in which a problem is separable, or compatible.

A problem in d dimensions has the first d rows of its embeddings. If a condition holds in some
dimension, it holds in every larger one: pad the decoder that proves it with zeros. So a bisection
finds the least dimension, and the verdict for every other dimension follows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from el_jax.linear_ntp import NTPProblem


@dataclass
class LeastDimension:
    """The least dimension in which a condition holds, and the verdicts of its bisection.

    Attributes:
        problem: the problem in the largest dimension, from which the bisection starts.
        check: decides by certificate whether the condition holds; None when undecided.
        step: only its multiples, and the largest dimension, are checked.
        verdicts: the verdict for each dimension checked.
    """

    problem: NTPProblem
    check: Callable[[NTPProblem], bool | None]
    step: int = 1
    verdicts: dict[int, bool | None] = field(default_factory=dict)

    def find(self) -> float:
        """The least dimension; NaN where verdicts leave more than one, inf where it never holds."""
        below, above = 0, math.ceil(self.problem.dim / self.step)
        top = self._verdict(above)
        if top is not True:
            return math.inf if top is False else math.nan
        while above - below > 1:
            middle = (below + above) // 2
            verdict = self._verdict(middle)
            if verdict is None:
                return math.nan
            below, above = (below, middle) if verdict else (middle, above)
        return float(self._dim(above))

    @property
    def undecided(self) -> int:
        """Number of undecided verdicts."""
        return sum(verdict is None for verdict in self.verdicts.values())

    def _dim(self, place: int) -> int:
        return min(place * self.step, self.problem.dim)

    def _verdict(self, place: int) -> bool | None:
        dim = self._dim(place)
        self.verdicts[dim] = self.check(first_dimensions(self.problem, dim))
        return self.verdicts[dim]


def first_dimensions(problem: NTPProblem, dim: int) -> NTPProblem:
    """The same contexts, with embeddings cut to the first ``dim`` numbers."""
    return NTPProblem(problem.embeddings[:dim], problem.context_probs, problem.next_token_probs)
