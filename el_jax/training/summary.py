"""Metrics as people read them: named numbers per run, from the moments a program returns.

The equal-learning diagnostics are here (Yang, Puli, Ranganath 2025, section 3.2): whether easy
tokens were fitted while hard ones were not (stratification), and whether the hard ones were then
memorised or the mechanism rectified.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from el_jax.training.moments import Moments

Row = dict[str, np.ndarray]  # metric name -> one value per run, [R]

EASY_FITTED_CE = 0.01  # nats; with HARD_UNFITTED_CE it defines "stratified"
HARD_UNFITTED_CE = 1.0
FITTED_ACCURACY = 0.99  # training accuracy from which a group counts as fitted


def _mean(moments: Moments) -> np.ndarray:
    # an empty group has no mean: NaN in memory, null in files
    return np.where(moments.num > 0, moments.mean, np.nan)


def _pooled(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation over all groups of ``[R, G]`` moments."""
    count = np.asarray(moments.num, np.float64)
    total = np.maximum(count.sum(-1), 1.0)
    mean = (count * moments.mean).sum(-1) / total
    spread = moments.m2 + count * np.square(moments.mean - mean[:, None])
    return mean, np.sqrt(spread.sum(-1) / total)


def _gradient_shares(moments: Moments, groups: Sequence[str]) -> Row:
    total = np.asarray(moments.num, np.float64) * moments.mean
    shares = total / np.maximum(total.sum(-1, keepdims=True), np.finfo(np.float32).tiny)
    return {f"{group}_gradient_share": shares[:, i] for i, group in enumerate(groups)}


def _easy_and_hard(row: Row) -> Row:
    stratified = (row["easy_ce"] < EASY_FITTED_CE) & (row["hard_ce"] > HARD_UNFITTED_CE)
    by_accuracy = (row["easy_accuracy"] >= FITTED_ACCURACY) & (row["hard_accuracy"] <= 0.5)
    return {
        "ce_gap": row["hard_ce"] - row["easy_ce"],
        "stratified": stratified.astype(np.float64),
        "stratified_by_accuracy": by_accuracy.astype(np.float64),
    }


def summarise(metrics: Mapping[str, Moments], groups: Sequence[str], prefix: str) -> Row:
    """Name the numbers of one evaluation.

    Args:
        metrics: moments with host leaves ``[R, G]``, or ``[R]`` for whole-update quantities.
        groups: the G group names.
        prefix: the split, put before every name (``train``, ``test``, ``batch``).

    Returns:
        For each per-token quantity its mean over all tokens and over each group; the standard
        deviation over tokens of ``ce`` and ``margin``; each group's share of the summed squared
        logit-gradient; and, where the groups are easy and hard, ``ce_gap`` (hard minus easy, nats),
        ``stratified`` (easy CE < 0.01 while hard CE > 1; 0 or 1) and ``stratified_by_accuracy``
        (easy accuracy >= .99 while hard <= .5, which also speaks of losses whose CE is bounded
        away from 0).
    """
    row: Row = {}
    for name, moments in metrics.items():
        if np.ndim(moments.mean) == 1:
            row[name] = _mean(moments)
            continue
        row[name], spread = _pooled(moments)
        if name in ("ce", "margin"):
            row[f"{name}_std"] = spread
        means = _mean(moments)
        row |= {f"{group}_{name}": means[:, i] for i, group in enumerate(groups)}
    row |= _gradient_shares(metrics["gradient"], groups)
    if tuple(groups) == ("easy", "hard"):
        row |= _easy_and_hard(row)
    return {f"{prefix}_{name}": np.asarray(values, np.float64) for name, values in row.items()}


def when_fitted(steps: Sequence[int], rows: Sequence[Row]) -> Row:
    """How each run fitted its hard training strings: by memory or by the right mechanism.

    Args:
        steps: steps of the rows, increasing.
        rows: rows that hold ``train_hard_accuracy`` and ``test_hard_accuracy``, each ``[R]``.

    Returns:
        ``fitted_step``: the first step at which hard training accuracy is at least .99 (NaN if
        never); ``hard_accuracy_when_fitted``: hard test accuracy at that step, near chance for a
        run that memorised and near 1 for one that rectified; ``rectified_afterwards``: what hard
        test accuracy still gained from then to the last row.
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
