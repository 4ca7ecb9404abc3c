"""Contexts that cannot be told apart, and the explicit certificates they give.

With W h_i = L and h_j = r h_i, the logits of j are r L: for r > 0 the same tokens lead in both,
for r < 0 those that lead in one trail in the other.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float64

from el_jax.linear_ntp.problems.problem import NTPProblem, column_lengths
from el_jax.linear_ntp.theory.certificates import FarkasMatrix, FredholmMatrix

# Sine of the angle up to which two embeddings are taken as parallel.
_PARALLEL = 1e-13


def separability_collisions(problem: NTPProblem) -> Iterator[tuple[FarkasMatrix, str]]:
    """The pairs of parallel embeddings whose supports no W can both separate.

    Yields:
        The proof, and the same in words.
    """
    for i, j, ratio in _parallel_pairs(problem.embeddings):
        first, second = problem.support[:, i], problem.support[:, j]
        both = first & second
        if ratio == 0 and not first.all():
            inside, outside = first, ~first
            words = f"the embedding of context {i} is zero"
        elif ratio > 0 and (first != second).any():
            if not (second & ~first).any():
                i, j, ratio, first, second = j, i, 1 / ratio, second, first
            inside, outside = first, second & ~first
            words = f"contexts {i} and {j} have {_parallel(ratio)} embeddings, different supports"
        elif ratio < 0 and both.any() and not both.all():
            if first.all():
                i, j, ratio, first = j, i, 1 / ratio, second
            inside, outside = both, ~first
            words = f"contexts {i} and {j} have antipodal embeddings, overlapping supports"
        else:
            continue
        b = np.zeros(problem.support.shape)
        b[inside.argmax(), i], b[outside.argmax(), i] = 1.0, -1.0
        if ratio != 0:
            b[:, j] = -b[:, i] / ratio
        yield FarkasMatrix(b), words


def compatibility_collisions(problem: NTPProblem) -> Iterator[tuple[FredholmMatrix, str]]:
    """The pairs of parallel embeddings whose probabilities no W can both have.

    Yields:
        The proof, and the same in words.
    """
    support, logs = problem.support, problem.log_probs
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
            yield FredholmMatrix(b), words


def _parallel_pairs(embeddings: Float64[np.ndarray, "d m"]) -> list[tuple[int, int, float]]:
    """Contexts i < j and r with h_j = r h_i, and (i, i, 0) where h_i = 0."""
    length = column_lengths(embeddings)
    pairs = [(int(i), int(i), 0.0) for i in np.flatnonzero(length == 0)]
    unit = embeddings / np.where(length > 0, length, 1.0)
    cosine = unit.T @ unit
    for i, j in np.argwhere(np.triu(np.abs(cosine) > 1 - 1e-8, k=1)):
        sign = np.sign(cosine[i, j])
        if np.linalg.norm(unit[:, j] - sign * unit[:, i]) <= _PARALLEL:
            pairs.append((int(i), int(j), float(sign * length[j] / length[i])))
    return pairs


def _parallel(ratio: float) -> str:
    if abs(ratio - 1) <= _PARALLEL:
        return "equal"
    return "parallel" if ratio > 0 else "antipodal"
