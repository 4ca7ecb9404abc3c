"""Linearly independent embeddings: any logits are attainable, so the data are separable.

With m <= d and H of rank m, W = (S - S_j/V) H⁺ has the logits (V - S_j)/V on supports and -S_j/V
off them, which separates whatever the supports (Thrampoulidis 2024, arXiv 2402.18551, Lemma 1). One
QR factorisation finds it even if the Gram matrix is too near singular for iterations.
"""

import numpy as np
from scipy.linalg import solve_triangular

from el_jax.linear_ntp.solvers.dual import MarginBracket, bracket, in_cone
from el_jax.linear_ntp.solvers.scaling import MarginProblem


def full_rank_bracket(problem: MarginProblem) -> MarginBracket | None:
    """The decoder with logits S - S_j/V; None if the rank is below m."""
    embeddings, support = problem.embeddings, problem.support
    if embeddings.shape[0] < embeddings.shape[1]:
        return None
    basis, factor = np.linalg.qr(embeddings)
    if not np.diag(factor).all():
        return None
    logits = (support - support.mean(axis=0)) * problem.margins
    coordinates = solve_triangular(factor, logits.T, trans="T")
    w = coordinates.T @ basis.T
    left = logits - w @ embeddings
    w = w + solve_triangular(factor, left.T, trans="T").T @ basis.T
    dual = in_cone(solve_triangular(factor, coordinates).T, support)
    return bracket(problem, w, dual, "frobenius", 0)
