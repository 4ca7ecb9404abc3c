"""Small hidden Markov processes whose belief states are known: Mess3 and RRXOR.

These are the processes of Shai, Marzen, Teixeira, Gietelink Oldenziel, Riechers 2024, "Transformers
represent belief state geometry in their residual stream" (arXiv 2405.15943); ``HMM.belief`` gives
the beliefs. There a transition emits the token; here the state that it enters does, which is the
same process if a state determines its token's distribution.
"""

import numpy as np

from el_jax.process.errors import require
from el_jax.worlds.hmm import HMM


def mess3(*, length: int = 10, alpha: float = 0.85, x: float = 0.05) -> HMM:
    """Three states and three tokens; beliefs fill a fractal in the simplex.

    Args:
        length: T.
        alpha: probability that a state emits its own token; the others share the rest.
        x: probability of each move to another state, at most 1/2.

    Raises:
        ValueError: if a number is out of its range.
    """
    require("alpha", alpha, 0 <= alpha <= 1, "in [0, 1]")
    require("x", x, 0 <= x <= 0.5, "in [0, 0.5]")
    same = np.eye(3)
    transition = (1 - 3 * x) * same + x
    emission = (1.5 * alpha - 0.5) * same + (1 - alpha) / 2
    return HMM(np.full(3, 1 / 3), transition, emission, length)


def rrxor(*, length: int = 10) -> HMM:
    """Two random bits and their exclusive or, repeated; the sequence starts at any of the three.

    Args:
        length: T.
    """
    # states: the first bit, both bits, and the exclusive or; 2 + 4 + 2
    transition, emission = np.zeros((8, 8)), np.zeros((8, 2))
    for first in range(2):
        emission[first, first] = 1
        for second in range(2):
            both = 2 + 2 * first + second
            transition[first, both] = 0.5
            emission[both, second] = 1
            transition[both, 6 + (first ^ second)] = 1
        emission[6 + first, first] = 1
        transition[6 + first, :2] = 0.5
    return HMM(np.repeat([1 / 6, 1 / 12, 1 / 6], [2, 4, 2]), transition, emission, length)
