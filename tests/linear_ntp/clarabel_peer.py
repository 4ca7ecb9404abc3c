"""NTP-SVM stated in cvxpy and solved by Clarabel; shares no code with the solver it checks."""

import cvxpy as cp
import numpy as np

from el_jax.linear_ntp import NTPProblem


def clarabel_max_margin(problem: NTPProblem, norm: str = "frobenius") -> np.ndarray:
    """W_mm of one problem, ``[V, d]``, to Clarabel's tolerances.

    Constrained entries are picked by index, since masks defeat Clarabel.
    """
    support = problem.support
    w = cp.Variable((problem.vocab_size, problem.dim))
    logits = w @ problem.embeddings
    constraints = []
    for j in range(problem.num_contexts):
        inside, outside = np.flatnonzero(support[:, j]), np.flatnonzero(~support[:, j])
        anchor = logits[inside[0], j]
        if len(inside) > 1:
            constraints.append(logits[inside[1:], j] == anchor)
        if len(outside):
            constraints.append(logits[outside, j] <= anchor - 1)
    size = {
        "frobenius": lambda: cp.sum_squares(w) / 2,
        "max": lambda: cp.max(cp.abs(w)),
        "spectral": lambda: cp.sigma_max(w),
        "nuclear": lambda: cp.normNuc(w),
    }[norm]()
    cp.Problem(cp.Minimize(size), constraints).solve(solver=cp.CLARABEL)
    return np.asarray(w.value)
