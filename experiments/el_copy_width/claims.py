"""Claims of Yang et al. (2025) on larger widths: a lower mean accuracy, a far larger spread."""

import math

import pandas as pd
import scipy.stats

from experiments.el_copy_width.settings import HARD_ACCURACY, PREFIX, by_context, distances
from experiments.harness.claims import Claim, claim_level, claim_trend, judge
from experiments.harness.statistics import wilson_interval
from experiments.harness.tables import values_of

SOURCE = "Yang et al. 2025, Figure 1b"
CHANCE = 1 / 26
HARD_STRINGS = 2_000  # among the 10,000 unseen ones, give or take the draw
TOO_FEW = "not measured: two widths or more, of two seeds or more each"


def claims(results: pd.DataFrame) -> list[Claim]:
    """The claims at the longest context that was run, judged on results.csv."""
    known = by_context(results)
    widths = known[max(known)] if known else {}
    settings = list(widths.values())
    largest = settings[-1] if settings else f"{PREFIX}110, width 128"
    return [
        _falls(results, widths),
        _spreads(results, widths),
        _worst_is_chance(values_of(results, largest, HARD_ACCURACY)),
        claim_level(
            results, largest, "test_precise_easy_accuracy", at_least=0.99,
            text="Unseen easy strings are copied whatever the width (the largest here)",
            source=SOURCE, paper_value="1.00",
        ),
        claim_level(
            results, largest, "train_hard_accuracy", at_least=0.99,
            text="Hard training strings are fitted whatever the width (the largest here)",
            source=SOURCE, paper_value="1.00",
        ),
    ]  # fmt: skip


def _falls(results: pd.DataFrame, widths: dict[int, str]) -> Claim:
    text = "Accuracy on unseen hard strings falls as the width grows"
    value = "falls slightly, values only drawn"
    if len(widths) < 2:
        return Claim(text, SOURCE, value, TOO_FEW)
    return claim_trend(
        results, HARD_ACCURACY, list(widths.values()), rising=False,
        positions=[math.log2(width) for width in widths],
        text=f"{text} ({', '.join(map(str, widths))}; slope per doubling)",
        source=SOURCE, paper_value=value,
    )  # fmt: skip


def _spreads(results: pd.DataFrame, widths: dict[int, str]) -> Claim:
    """A test of Brown and Forsythe's kind: the trend of the distances to the median over seeds."""
    text = "It differs more from seed to seed as the width grows (mean distance to the median)"
    value = "variance increases markedly, values only drawn"
    settings = list(widths.values())
    seeds = [len(values_of(results, setting, HARD_ACCURACY)) for setting in settings]
    if len(widths) < 2 or min(seeds) < 2:
        return Claim(text, SOURCE, value, TOO_FEW)
    return claim_trend(
        distances(results), HARD_ACCURACY, settings, rising=True,
        positions=[math.log2(width) for width in widths],
        text=f"{text[:-1]}; slope per doubling)", source=SOURCE, paper_value=value,
    )  # fmt: skip


def _worst_is_chance(entry: pd.Series) -> Claim:
    text = "The worst run of the largest width does no better than guessing (below twice chance)"
    value = f"{CHANCE:.3f}, the worst of 10 runs at context 440, width 3072 or 4096"
    if entry.empty:
        return Claim(text, SOURCE, value, "not measured")
    worst = float(entry.min())
    low, high = wilson_interval(worst, HARD_STRINGS)
    right = round(worst * HARD_STRINGS)
    return Claim(
        text,
        SOURCE,
        value,
        ours=f"{worst:.3f} (the worst of {len(entry)} seeds)",
        verdict=judge(holds=high < 2 * CHANCE, fails=low > 2 * CHANCE),
        detail=f"95% Wilson interval of that run over {HARD_STRINGS:,} strings "
        f"[{low:.3f}, {high:.3f}]",
        p=scipy.stats.binomtest(right, HARD_STRINGS, 2 * CHANCE).pvalue,
    )
