"""Separability in rational arithmetic: no rounding, no solver, no tolerance."""

from fractions import Fraction

import numpy as np

from el_jax.linear_ntp import NTPProblem


def problem_of(embeddings, supports, vocab_size):
    """A problem with uniform probabilities on the given supports."""
    H = np.asarray(embeddings, float)
    probs = np.zeros((vocab_size, H.shape[1]))
    for context, tokens in enumerate(supports):
        probs[list(tokens), context] = 1 / len(tokens)
    return NTPProblem(H, np.full(H.shape[1], 1 / H.shape[1]), probs)


def is_separable(problem):
    """True if no B of D has B Hᵀ = 0 and -Σ_off B = 1, decided by an exact simplex method."""
    return not _has_solution(_reduced(*_farkas_system(problem)))


def exact_logits(problem, w):
    """By context, the logits of W inside and outside its support."""
    rows = [[Fraction(number) for number in row] for row in np.asarray(w).tolist()]
    by_context = []
    for h, support in zip(problem.embeddings.T.tolist(), problem.support.T, strict=True):
        logits = [
            sum((a * Fraction(b) for a, b in zip(row, h, strict=True)), Fraction(0)) for row in rows
        ]
        inside = [x for x, z in zip(logits, support, strict=True) if z]
        by_context.append((inside, [x for x, z in zip(logits, support, strict=True) if not z]))
    return by_context


def _farkas_system(problem):
    """Rows with columns for B in supports (free), for -B off supports, and for the right side."""
    H, support = problem.embeddings, problem.support
    inside, outside = np.argwhere(support).tolist(), np.argwhere(~support).tolist()
    entries = [(v, j, 1) for v, j in inside] + [(v, j, -1) for v, j in outside]
    rows = [
        [Fraction(sign) if j == context else Fraction(0) for _, j, sign in entries] + [Fraction(0)]
        for context in range(support.shape[1])
    ]
    for token in range(support.shape[0]):
        for numbers in H:
            exact = [Fraction(number) for number in numbers.tolist()]
            rows.append([sign * exact[j] if v == token else Fraction(0) for v, j, sign in entries])
            rows[-1].append(Fraction(0))
    rows.append([Fraction(int(sign < 0)) for _, _, sign in entries] + [Fraction(1)])
    return rows, len(inside)


def _reduced(rows, num_free):
    """The rows left after elimination of the free variables, without the columns of these."""
    rows = [row for row in rows if any(row)]
    for column in range(num_free):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        rows = [row for row in rows if row is not pivot]
        rows = [
            [a - row[column] / pivot[column] * b for a, b in zip(row, pivot, strict=True)]
            if row[column]
            else row
            for row in rows
        ]
    return [row[num_free:] for row in rows if any(row[num_free:])]


def _has_solution(rows):
    """True if M x = b has an x >= 0: the first phase of the simplex method, with Bland's rule."""
    rows = [[-a for a in row] if row[-1] < 0 else list(row) for row in rows]
    num_columns = len(rows[0]) - 1
    basis = [None] * len(rows)  # None is the row's own artificial variable
    while True:
        gain = [
            sum(row[c] for row, member in zip(rows, basis, strict=True) if member is None)
            for c in range(num_columns)
        ]
        entering = next((c for c in range(num_columns) if gain[c] > 0 and c not in basis), None)
        if entering is None:
            return all(not row[-1] for row, b in zip(rows, basis, strict=True) if b is None)
        ratios = [(row[-1] / row[entering], i) for i, row in enumerate(rows) if row[entering] > 0]
        least = min(ratio for ratio, _ in ratios)
        ties = [i for ratio, i in ratios if ratio == least]
        leaving = min(ties, key=lambda i: -1 if basis[i] is None else basis[i])
        pivot = [a / rows[leaving][entering] for a in rows[leaving]]
        rows = [
            pivot
            if i == leaving
            else [a - row[entering] * b for a, b in zip(row, pivot, strict=True)]
            for i, row in enumerate(rows)
        ]
        basis[leaving] = entering
