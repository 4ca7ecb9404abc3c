"""NTP-SVM stated in cvxpy and solved by Clarabel."""

import cvxpy as cp
import numpy as np

from el_jax.linear_ntp import NTPProblem


def clarabel_max_margin(problem: NTPProblem) -> np.ndarray:
    """W_mm of one problem in the Frobenius norm, ``[V, d]``, to Clarabel's tolerances.

    Constrained entries are picked by index, since masks defeat Clarabel.
    """
    w = cp.Variable((problem.vocab_size, problem.dim))
    logits = w @ problem.embeddings
    constraints = []
    for j, support in enumerate(problem.support.T):
        first, *others = np.flatnonzero(support)
        if others:
            constraints.append(logits[others, j] == logits[first, j])
        if not support.all():
            constraints.append(logits[np.flatnonzero(~support), j] <= logits[first, j] - 1)
    cp.Problem(cp.Minimize(cp.sum_squares(w) / 2), constraints).solve(solver=cp.CLARABEL)
    return np.asarray(w.value)
