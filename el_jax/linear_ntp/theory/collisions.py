"""Contexts that cannot be told apart, and the explicit certificates they give.

With W h_i = L and h_j = r h_i, the logits of j are r L: for r > 0 the same tokens lead in both,
for r < 0 those that lead in one trail in the other.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from el_jax.linear_ntp.problems.problem import NTPProblem
from el_jax.linear_ntp.theory.certificates import FarkasMatrix, FredholmMatrix

# Sine of the angle up to which two embeddings are taken as parallel.
_PARALLEL = 1e-13


class InseparablePair(NamedTuple):
    """Two contexts that no W can both separate: the proof, and the same in words."""

    certificate: FarkasMatrix
    reason: str


class IncompatiblePair(NamedTuple):
    """Two contexts whose log ratios no W can both have: the proof, and the same in words."""

    certificate: FredholmMatrix
    reason: str


def separability_collision(problem: NTPProblem) -> InseparablePair | None:
    """The first pair of parallel embeddings whose supports no W can both separate, if any."""
    support = problem.support
    for i, j, ratio in _parallel_pairs(problem.embeddings):
        if ratio == 0 and not support[:, i].all():
            outside = int(np.argmin(support[:, i]))
            b = _single(problem, int(np.argmax(support[:, i])), outside, i)
            return InseparablePair(FarkasMatrix(b), f"the embedding of context {i} is zero")
        if ratio > 0 and (support[:, i] != support[:, j]).any():
            i, j, ratio = (
                (i, j, ratio) if (support[:, j] & ~support[:, i]).any() else (j, i, 1 / ratio)
            )
            outside = int(np.argmax(support[:, j] & ~support[:, i]))
            inside = int(np.argmax(support[:, i]))
            words = f"contexts {i} and {j} have {_parallel(ratio)} embeddings, different supports"
            return _farkas(problem, i, j, ratio, (inside, outside), words)
        shared = support[:, i] & support[:, j]
        if ratio < 0 and shared.any() and not (support[:, i] & support[:, j]).all():
            i, j, ratio = (i, j, ratio) if not support[:, i].all() else (j, i, 1 / ratio)
            tokens = int(np.argmax(shared)), int(np.argmin(support[:, i]))
            words = f"contexts {i} and {j} have antipodal embeddings, overlapping supports"
            return _farkas(problem, i, j, ratio, tokens, words)
    return None


def compatibility_collision(problem: NTPProblem) -> IncompatiblePair | None:
    """The first pair of parallel embeddings whose probabilities no W can both have, if any."""
    support = problem.support
    logs = np.log(np.where(support, problem.next_token_probs, 1.0))
    for i, j, ratio in _parallel_pairs(problem.embeddings):
        shared = support[:, j] if ratio == 0 else support[:, i] & support[:, j]
        if not shared.any():
            continue
        # ratio 0: logits are all 0, whatever the other context
        gap = np.where(shared, logs[:, j] - ratio * (0 if ratio == 0 else logs[:, i]), 0.0)
        gap = np.where(shared, gap - gap.sum() / shared.sum(), 0.0)
        if np.abs(gap).max() > 1e-9 * max(1.0, float(np.abs(logs).max())):
            b = np.zeros(support.shape)
            b[:, j] = gap
            if ratio != 0:
                b[:, i] -= ratio * gap
            words = (
                f"the embedding of context {i} is zero, its probabilities are not uniform"
                if ratio == 0
                else f"contexts {i} and {j} have {_parallel(ratio)} embeddings, different ratios "
                "between the probabilities of tokens they share"
            )
            return IncompatiblePair(FredholmMatrix(b), words)
    return None


def _parallel_pairs(embeddings: Float64[np.ndarray, "d m"]) -> list[tuple[int, int, float]]:
    """Contexts i < j and r with h_j = r h_i, and (i, i, 0) where h_i = 0."""
    length = np.linalg.norm(embeddings, axis=0)
    pairs = [(int(i), int(i), 0.0) for i in np.flatnonzero(length == 0)]
    unit = embeddings / np.where(length > 0, length, 1.0)
    cosine = unit.T @ unit
    for i, j in np.argwhere(np.triu(np.abs(cosine) > 1 - 1e-8, k=1)):
        sign = np.sign(cosine[i, j])
        if np.linalg.norm(unit[:, j] - sign * unit[:, i]) <= _PARALLEL:
            pairs.append((int(i), int(j), float(sign * length[j] / length[i])))
    return pairs


def _farkas(
    problem: NTPProblem, i: int, j: int, ratio: float, tokens: tuple[int, int], words: str
) -> InseparablePair:
    b = _single(problem, *tokens, i)
    b[:, j] = -b[:, i] / ratio
    return InseparablePair(FarkasMatrix(b), words)


def _single(problem: NTPProblem, inside: int, outside: int, context: int) -> np.ndarray:
    b = np.zeros(problem.support.shape)
    b[inside, context], b[outside, context] = 1.0, -1.0
    return b


def _parallel(ratio: float) -> str:
    if abs(ratio - 1) <= _PARALLEL:
        return "equal"
    return "parallel" if ratio > 0 else "antipodal"
