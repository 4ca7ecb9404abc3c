"""Named metrics, one number per run, from the moments that a program returns."""

from collections.abc import Mapping, Sequence

import numpy as np

from el_jax.training.moments import Moments
from el_jax.types import Probe, Row


def _mean(moments: Moments) -> np.ndarray:
    # an empty group has no mean: NaN in memory, null in files
    return np.where(moments.num > 0, moments.mean, np.nan)


def _pooled(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation over all groups of ``[R, G]`` moments."""
    count = np.asarray(moments.num, np.float64)
    total = np.maximum(count.sum(-1), 1.0)
    mean = (count * moments.mean).sum(-1) / total
    spread = moments.m2 + count * np.square(moments.mean - mean[:, None])
    some = count.sum(-1) > 0
    return np.where(some, mean, np.nan), np.where(some, np.sqrt(spread.sum(-1) / total), np.nan)


def _gradient_shares(moments: Moments, groups: Sequence[str]) -> Row:
    # where all gradients are 0, each group's share is 0, not NaN
    total = np.asarray(moments.num, np.float64) * moments.mean
    shares = total / np.maximum(total.sum(-1, keepdims=True), np.finfo(np.float32).tiny)
    return {f"{group}_gradient_share": shares[:, i] for i, group in enumerate(groups)}


def summarise(
    metrics: Mapping[str, Moments],
    groups: Sequence[str],
    prefix: str,
    probes: Sequence[Probe] = (),
) -> Row:
    """Name the numbers of one evaluation.

    Args:
        metrics: moments with host leaves ``[R, G]``, or ``[R]`` for whole-update quantities.
        groups: the G group names.
        prefix: the split, put before every name (``train``, ``test``, ``batch``).
        probes: measurements; some derive further numbers from a row.

    Returns:
        For each per-token quantity its mean over all tokens and over each group; the standard
        deviation over tokens of ``ce`` and ``margin``; each group's share of the summed squared
        logit-gradient; and the numbers that the probes derive from these.
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
        # an answer is in the group of its first token; a group where none begins gets no row
        named = [i for i in range(len(groups)) if name != "exact_match" or moments.num[:, i].any()]
        row |= {f"{groups[i]}_{name}": means[:, i] for i in named}
    row |= _gradient_shares(metrics["gradient"], groups)
    for probe in probes:
        if probe.of_split is not None:
            row |= probe.of_split(row)
    return {f"{prefix}_{name}": np.asarray(values, np.float64) for name, values in row.items()}
