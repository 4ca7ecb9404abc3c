"""Claims of Yang et al. (2025) on larger widths: a lower mean accuracy, a far larger spread."""

import math

import pandas as pd
import scipy.stats

from experiments.el_copy_width.run import STRINGS_PER_WINDOW, WIDTHS
from experiments.harness.claims import level, trend
from experiments.harness.judging import Claim, Outcome, verdict_of
from experiments.harness.statistics import wilson_interval
from experiments.harness.tables import Where, factors_of, select, values_of

SOURCE = "Yang et al. 2025, Figure 1b"
HARD, SPREAD = "test_precise_hard_accuracy", "distance_to_median"
CHANCE = 1 / 26
HARD_STRINGS = 2_000  # among the 10,000 unseen ones, give or take the draw


def derived(results: pd.DataFrame) -> pd.DataFrame:
    """The results, and the distance of each hard accuracy to the median of its setting."""
    hard = select(results, {}, HARD)
    middle = hard.groupby(factors_of(hard), dropna=False)["value"].transform("median")
    distances = hard.assign(metric=SPREAD, value=(hard["value"] - middle).abs())
    return pd.concat([results, distances], ignore_index=True)


def _worst_is_chance(largest: Where) -> Claim:
    def judge(results: pd.DataFrame) -> Outcome:
        accuracies = values_of(results, largest, HARD)
        worst = float(accuracies.min())
        low, high = wilson_interval(worst, HARD_STRINGS)
        right = round(worst * HARD_STRINGS)
        return Outcome(
            f"95% Wilson interval of that run over {HARD_STRINGS:,} strings "
            f"[{low:.3f}, {high:.3f}]",
            f"{worst:.3f} (the worst of {len(accuracies)} seeds)",
            verdict_of(holds=high < 2 * CHANCE, fails=low > 2 * CHANCE),
            scipy.stats.binomtest(right, HARD_STRINGS, 2 * CHANCE).pvalue,
        )

    return Claim(
        "The worst run of the largest width does no better than guessing (below twice chance)",
        judge,
        f"{CHANCE:.3f}, the worst of 10 runs at context 440, width 3072 or 4096",
        SOURCE,
        [(largest, HARD)],
    )


def _in_the_longest_context(strings: int, widths: tuple[int, ...]) -> list[Claim]:
    where = {"strings_per_window": strings}
    largest = where | {"width": widths[-1]}
    return [
        trend(
            "Accuracy on unseen hard strings falls as the width grows "
            f"({', '.join(map(str, widths))}; slope per doubling)",
            HARD,
            where,
            "width",
            rising=False,
            position=math.log2,
            paper="falls slightly, values only drawn",
            source=SOURCE,
        ),
        # a test of Brown and Forsythe's kind
        trend(
            "It differs more from seed to seed as the width grows (mean distance to the median; "
            "slope per doubling)",
            SPREAD,
            where,
            "width",
            rising=True,
            position=math.log2,
            paper="variance increases markedly, values only drawn",
            source=SOURCE,
        ),
        _worst_is_chance(largest),
        *(
            level(
                f"{strings} whatever the width (the largest here)",
                metric,
                largest,
                at_least=0.99,
                paper="1.00",
                source=SOURCE,
            )
            for strings, metric in (
                ("Unseen easy strings are copied", "test_precise_easy_accuracy"),
                ("Hard training strings are fitted", "train_hard_accuracy"),
            )
        ),
    ]


CLAIMS = {
    scale: _in_the_longest_context(STRINGS_PER_WINDOW.get(scale, (2,))[-1], widths)
    for scale, widths in WIDTHS.items()
}
