"""Stratification: easy tokens are fitted while hard ones are not, and hard ones then memorised.

These are the diagnostics of Yang, Puli, Ranganath 2025, section 3.2, for tasks with easy and hard
tokens.
"""

from collections.abc import Sequence

import numpy as np

from el_jax.tasks import Task
from el_jax.types import ModelFns, Probe, Row

EASY_FITTED_CE = 0.01  # nats; with HARD_UNFITTED_CE it defines "stratified"
HARD_UNFITTED_CE = 1.0
FITTED_ACCURACY = 0.99  # training accuracy from which a group counts as fitted


def stratification(task: Task, model: ModelFns) -> Probe:
    """Probe each split for ``ce_gap``, hard minus easy cross-entropy in nats, and two verdicts.

    A verdict is 0 or 1. ``stratified``: easy CE < 0.01 while hard CE > 1.
    ``stratified_by_accuracy``: easy accuracy >= .99 while hard <= .5, a criterion that also serves
    losses whose CE is bounded away from 0.

    Raises:
        ValueError: the task's groups are not easy and hard.
    """
    del model
    if task.group_names != ("easy", "hard"):
        raise ValueError(f"needs a task of groups easy and hard, not {', '.join(task.group_names)}")
    return Probe(of_split=_stratified)


def _stratified(row: Row) -> Row:
    by_ce = (row["easy_ce"] < EASY_FITTED_CE) & (row["hard_ce"] > HARD_UNFITTED_CE)
    by_accuracy = (row["easy_accuracy"] >= FITTED_ACCURACY) & (row["hard_accuracy"] <= 0.5)
    return {
        "ce_gap": row["hard_ce"] - row["easy_ce"],
        "stratified": by_ce.astype(np.float64),
        "stratified_by_accuracy": by_accuracy.astype(np.float64),
    }


def when_fitted(steps: Sequence[int], rows: Sequence[Row]) -> Row:
    """Tell runs that memorised their hard training strings from runs that learnt the mechanism.

    Args:
        steps: steps of the rows, increasing.
        rows: rows that hold ``train_hard_accuracy`` and ``test_hard_accuracy``, each ``[R]``.

    Returns:
        ``fitted_step``: the first step at which hard training accuracy is at least .99 (NaN if
        never); ``hard_accuracy_when_fitted``: hard test accuracy at that step, near chance for a
        run that memorised and near 1 for one that rectified; ``rectified_afterwards``: the gain of
        hard test accuracy from that step to the last row.
    """
    train = np.stack([row["train_hard_accuracy"] for row in rows])  # [steps, R]
    test = np.stack([row["test_hard_accuracy"] for row in rows])
    fitted = train >= FITTED_ACCURACY
    first = np.argmax(fitted, axis=0)
    runs = np.arange(train.shape[1])
    ever = fitted.any(0)
    at_first = np.where(ever, test[first, runs], np.nan)
    return {
        "fitted_step": np.where(ever, np.asarray(steps, np.float64)[first], np.nan),
        "hard_accuracy_when_fitted": at_first,
        "rectified_afterwards": test[-1] - at_first,
    }
