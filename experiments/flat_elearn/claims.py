"""Two papers combined in claims that neither makes: are the solutions that generalise flat?

Yang et al. (2025): among networks that fit the same strings, those trained with an E-loss
generalise. Liu et al. (2023): among networks with equal loss, the flatter one does. If both hold,
E-losses end at flatter solutions, and among networks with one loss the flatter ones copy better.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats

from experiments.flat_elearn.probe import FISHER, MATCHED, MATCHED_CE, SCALE_FREE, TOP
from experiments.harness.claims import greater
from experiments.harness.judging import Claim, Outcome, Verdict, verdict_of
from experiments.harness.names import name_of
from experiments.harness.statistics import CONFIDENCE
from experiments.harness.tables import Where, values_of

CE = {"loss": "cross_entropy"}
E_LOSSES: tuple[dict[str, Any], ...] = (
    {"loss": "e1", "lam": 2},
    {"loss": "e2", "lam": 4},
    {"loss": "e3", "b": 1},
)
COLD, WARM = {"warmup_steps": 0}, {"warmup_steps": 1000}
SETTINGS = [loss | warm_up for loss in (CE, *E_LOSSES) for warm_up in (COLD, WARM)]
HARD = "test_precise_hard_accuracy"
BOTH = "Liu et al. 2023 on Yang et al. 2025"
EQUAL = f"at {MATCHED_CE} nats"
NUM_PERMUTATIONS = 100_000
WORDS = {
    FISHER: "Fisher trace",
    SCALE_FREE: "scale-free trace",
    TOP: "largest eigenvalue of the Hessian",
}


def _flatter(loss: Where, warm_up: Where) -> Claim:
    first, second = {**loss, **warm_up}, {**CE, **warm_up}
    return greater(
        f"{name_of(first)} ends flatter than {name_of(second)}, {EQUAL}: {WORDS[FISHER]} "
        "(difference of logarithms)",
        MATCHED + FISHER,
        second,
        first,
        paper="flatter",
        source=BOTH,
    )


def pairs_of(results: pd.DataFrame, where: Where, metric: str) -> np.ndarray:
    """A metric and the accuracy on hard strings, ``[networks, 2]``, where both are numbers."""
    columns = [values_of(results, where, name) for name in (metric, HARD)]
    return pd.concat(columns, axis=1).dropna().to_numpy()


def _orders(measure: str) -> Claim:
    """Within settings: the correlation of accuracy with flatness over seeds, means removed."""

    def judge(results: pd.DataFrame) -> Outcome:
        found = [pairs_of(results, where, MATCHED + measure) for where in SETTINGS]
        return negative_within(found, "seeds within settings", joint=True)

    return Claim(
        "Among networks of one loss the flatter ones are better on unseen hard strings, "
        f"{EQUAL}: {WORDS[measure]} (correlation within settings)",
        judge,
        paper="flatter is better",
        source=BOTH,
    )


def negative_within(groups: Sequence[np.ndarray], what: str, *, joint: bool = False) -> Outcome:
    """Is the correlation of two columns negative within groups, means removed?

    Judged by permutations of one column within each group, since groups may have unequal spreads;
    the interval takes them as equal.

    Args:
        groups: the two columns of each group, ``[n, 2]``.
        what: what varies within which groups, in words.
        joint: rows of one number share a data set, so all groups are permuted alike.
    """
    centred = [pairs - pairs.mean(0) for pairs in groups if len(pairs) > 1]
    first, second = np.concatenate([np.empty((0, 2)), *centred]).T
    freedom = len(first) - len(centred) - 1
    if freedom < 1 or not second.std():
        return Outcome(f"correlation, {what}", verdict=Verdict.NOT_MEASURED)
    r = float(np.corrcoef(first, second)[0, 1])
    low, high = _interval(r, freedom)
    p = _permutation_p(centred, joint=joint)
    decided = p <= 1 - CONFIDENCE
    return Outcome(
        f"correlation {r:+.3f}, {CONFIDENCE:.0%} interval [{low:+.3f}, {high:+.3f}] "
        f"(Fisher's z; judged by permutations), {what}",
        f"r = {r:+.2f} ({len(first)} networks)",
        verdict_of(holds=decided and r < 0, fails=decided and r > 0),
        p,
    )


def _permutation_p(groups: Sequence[np.ndarray], *, joint: bool) -> float:
    """Two-sided p value of the summed product of two centred columns, rows exchanged in groups."""
    rng, products = np.random.default_rng(0), np.zeros(NUM_PERMUTATIONS)
    order = np.empty(0)
    for pairs in groups:
        if not joint or order.shape[-1] != len(pairs):
            rows = np.broadcast_to(np.arange(len(pairs)), (NUM_PERMUTATIONS, len(pairs)))
            order = rng.permuted(rows, axis=1)
        products += pairs[order, 1] @ pairs[:, 0]
    seen = sum(first @ second for first, second in (pairs.T for pairs in groups))
    return float((1 + (np.abs(products) >= abs(seen) * (1 - 1e-9)).sum()) / (1 + len(products)))


def _interval(r: float, freedom: int) -> tuple[float, float]:
    """Interval of a correlation by Fisher's z, with the degrees of freedom that settings leave."""
    half = scipy.stats.norm.ppf((1 + CONFIDENCE) / 2) / np.sqrt(max(freedom - 1, 1))
    return float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))


CLAIMS = [
    *(_flatter(loss, warm_up) for warm_up in (COLD, WARM) for loss in E_LOSSES),
    greater(
        f"{name_of(CE)} ends flatter with warm-up than without, {EQUAL}: {WORDS[FISHER]} "
        "(difference of logarithms)",
        MATCHED + FISHER,
        CE | COLD,
        CE | WARM,
        paper="flatter",
        source=BOTH,
    ),
    _orders(FISHER),
]
