"""Two claims put together that neither paper makes: is what generalises where it is flat?

Yang et al. (2025): of networks that fit the same strings, those of an E-loss generalise. Liu et al.
(2023): of networks with equal loss, the flatter one does. If both are so, E-losses end at flatter
solutions, and among networks of one loss the flatter ones copy better.
"""

import numpy as np
import pandas as pd
import scipy.stats

from experiments.flat_elearn.settings import (
    CE,
    FISHER,
    HARD,
    LOSSES,
    MATCHED_CE,
    MEASURES,
    NONE,
    SETTINGS,
    TRAIN,
    WARM,
    matched,
)
from experiments.harness.claims import Claim, Wording, claim_greater, claim_level, judge
from experiments.harness.statistics import CONFIDENCE
from experiments.harness.tables import values_of

FITS = 0.99
OURS = "not in the papers"
BOTH = "Liu et al. 2023 on Yang et al. 2025"


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims, judged on results.csv."""
    return [
        *(_fits(results, setting) for setting in SETTINGS),
        *(
            _flatter(results, loss, warm, measure, at_equal_loss=equal)
            for equal in (True, False)
            for measure in MEASURES
            for warm in (NONE, WARM)
            for loss in LOSSES[1:]
        ),
        *(_flatter_with_warm_up(results, loss) for loss in LOSSES),
        *(_orders(results, measure) for measure in MEASURES),
    ]


def _fits(results: pd.DataFrame, setting: str) -> Claim:
    return claim_level(
        results, setting, TRAIN, at_least=FITS,
        text=f"{setting} fits the hard training strings, so that solutions can be compared",
        source="Yang et al. 2025, Figure 4", paper_value="1.00",
    )  # fmt: skip


def _flatter(
    results: pd.DataFrame, loss: str, warm: str, measure: str, *, at_equal_loss: bool
) -> Claim:
    where = f"at {MATCHED_CE} nats" if at_equal_loss else "with logits as they are"
    return claim_greater(
        results, matched(measure) if at_equal_loss else measure, CE + warm, loss + warm,
        text=f"{loss}{warm} ends flatter than cross-entropy{warm}, {where}: {MEASURES[measure]} "
        "(difference of logarithms)",
        source=BOTH if at_equal_loss else OURS, paper_value="flatter",
    )  # fmt: skip


def _flatter_with_warm_up(results: pd.DataFrame, loss: str) -> Claim:
    return claim_greater(
        results, matched(FISHER), loss, loss + WARM,
        text=f"{loss} ends flatter with warm-up than without, at {MATCHED_CE} nats: "
        f"{MEASURES[FISHER]} (difference of logarithms)",
        source=BOTH, paper_value="flatter",
    )  # fmt: skip


def _orders(results: pd.DataFrame, measure: str) -> Claim:
    """Within settings: the correlation of accuracy with flatness over seeds, means removed."""
    words = Wording(
        text="Among networks of one loss the flatter ones are better on unseen hard strings, "
        f"at {MATCHED_CE} nats: {MEASURES[measure]} (correlation within settings)",
        source=BOTH,
        paper_value="flatter is better",
    )
    flat, right = [], []
    for setting in SETTINGS:
        columns = [values_of(results, setting, name) for name in (matched(measure), HARD)]
        pair = pd.concat(columns, axis=1).dropna().to_numpy()
        if len(pair) > 1:
            pair = pair - pair.mean(0)
            flat.append(pair[:, 0])
            right.append(pair[:, 1])
    num = sum(map(len, flat))
    freedom = num - len(flat) - 1
    if freedom < 1 or not np.std(np.concatenate(right)):
        return Claim(**words, detail=f"not measured: {matched(measure)} beside {HARD}")
    r = float(np.corrcoef(np.concatenate(flat), np.concatenate(right))[0, 1])
    low, high = _interval(r, freedom)
    p = 2 * scipy.stats.t.sf(abs(r) * np.sqrt(freedom / (1 - r**2)), freedom)
    return Claim(
        **words,
        ours=f"r = {r:+.2f} ({num} networks)",
        verdict=judge(holds=high < 0, fails=low > 0),
        detail=f"correlation {r:+.3f}, {CONFIDENCE:.0%} interval [{low:+.3f}, {high:+.3f}] "
        "(Fisher's z), seeds within settings",
        p=float(p),
    )


def _interval(r: float, freedom: int) -> tuple[float, float]:
    """Of a correlation, by Fisher's z with the degrees of freedom that settings leave."""
    half = scipy.stats.norm.ppf((1 + CONFIDENCE) / 2) / np.sqrt(max(freedom - 1, 1))
    return float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))
