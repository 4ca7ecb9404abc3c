"""Claims of the papers as tests on results: the paper's number, our numbers, and a verdict.

A claim is judged by the 95% Student-t interval of a mean over seeds: it *holds* when the whole
interval is on the claimed side, *fails* when the whole interval is on the other, and is
*inconclusive* otherwise. Seeds are shared between settings, so settings are compared by their
difference seed by seed. Fewer than two seeds, two with the same value, or a setting not measured
is inconclusive, never an error: a partial run still reports its claims. ``with_holm`` then corrects
the verdicts of an experiment for their number.

Timings are judged by the exact interval of their median instead, and a number that does not vary
by itself. Neither has a p value, so that they are not corrected: n rounds have none below 2 / 2**n.
"""

import dataclasses
import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict, Unpack

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from experiments.harness.statistics import (
    CONFIDENCE,
    Interval,
    contrast,
    describe,
    describe_mean,
    describe_number,
    describe_seeds,
    median_interval,
    p_value,
    paired_difference,
    paired_slope,
    t_interval,
)
from experiments.harness.tables import values_of


class Verdict(enum.Enum):
    """The outcome of testing a claim on the results."""

    HOLDS = "holds"
    FAILS = "fails"
    INCONCLUSIVE = "inconclusive"


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim and its verdict.

    Attributes:
        text: the claim, one sentence.
        source: its place in the paper, such as ``Yang et al. 2025, Table 3``.
        paper_value: the paper's number, or its words where it gives none.
        detail: the interval the verdict rests on, or the reason why there is none.
        ours: our numbers, mean ± standard error and number of seeds; empty if not measured.
        verdict: holds, fails or inconclusive.
        p: two-sided p value of the quantity being at the bound of the claim; NaN if not tested.
    """

    text: str
    source: str
    paper_value: str
    detail: str
    ours: str = ""
    verdict: Verdict = Verdict.INCONCLUSIVE
    p: float = math.nan


class Wording(TypedDict):
    """The words of a claim, see ``Claim``."""

    text: str
    source: str
    paper_value: str


def claim_greater(
    results: pd.DataFrame,
    metric: str,
    better: str,
    worse: str,
    *,
    by: float = 0.0,
    **wording: Unpack[Wording],
) -> Claim:
    """Setting ``better`` has a metric above that of ``worse`` by more than ``by``.

    Judged by the paired difference over the seeds both settings have.
    """
    first, second = entries = _entries(results, metric, [better, worse])
    if missing := _not_measured(metric, entries):
        return Claim(**wording, detail=missing)
    difference = paired_difference(first, second)
    return Claim(
        **wording,
        ours=f"{describe(first)} against {describe(second)}",
        verdict=judge(holds=difference.low > by, fails=difference.high < by),
        detail=_explain("paired difference", difference, form="+.3f"),
        p=p_value(difference, by),
    )


def difference(of: Iterable[str], minus: Iterable[str]) -> dict[str, float]:
    """The weights of the mean of some settings minus that of others."""
    of, minus = list(of), list(minus)
    return dict.fromkeys(of, 1 / len(of)) | dict.fromkeys(minus, -1 / len(minus))


def change(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """The weights of one contrast minus another."""
    names = [*first, *(name for name in second if name not in first)]
    return {name: first.get(name, 0.0) - second.get(name, 0.0) for name in names}


def claim_contrast(
    results: pd.DataFrame,
    metric: str,
    weights: Mapping[str, float],
    *,
    by: float = 0.0,
    ours: str = "",
    **wording: Unpack[Wording],
) -> Claim:
    """A weighted sum over settings is above a bound: a main effect, or an interaction.

    Args:
        results: the values.
        metric: the metric.
        weights: the weight of each setting; those of a difference sum to 0.
        by: the bound.
        ours: the numbers to show; the interval stands in the detail.
        wording: the claim, its place in the paper and the paper's number.
    """
    entries = _entries(results, metric, list(weights))
    if missing := _not_measured(metric, entries):
        return Claim(**wording, detail=missing)
    effect = contrast(entries, list(weights.values()))
    return Claim(
        **wording,
        ours=ours,
        verdict=judge(holds=effect.low > by, fails=effect.high < by),
        detail=_explain("contrast", effect, form="+.3f"),
        p=p_value(effect, by),
    )


def claim_level(
    results: pd.DataFrame,
    setting: str,
    metric: str,
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    **wording: Unpack[Wording],
) -> Claim:
    """The metric of a setting is ``at_least``, or ``at_most``, a number."""
    (entry,) = entries = _entries(results, metric, [setting])
    if missing := _not_measured(metric, entries):
        return Claim(**wording, detail=missing)
    mean = t_interval(entry)
    verdict = _judge_level(mean.low, mean.high, at_least, at_most)
    return Claim(
        **wording,
        ours=describe(entry),
        verdict=verdict,
        detail=_explain("mean", mean),
        p=p_value(mean, at_least if math.isfinite(at_least) else at_most),
    )


def claim_median(
    results: pd.DataFrame,
    setting: str,
    metric: str,
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    **wording: Unpack[Wording],
) -> Claim:
    """The median of a metric is ``at_least``, or ``at_most``, a number: for timings."""
    (entry,) = entries = _entries(results, metric, [setting])
    if missing := _not_measured(metric, entries):
        return Claim(**wording, detail=missing)
    median = median_interval(entry)
    return Claim(
        **wording,
        ours=f"{describe_number(median.mean)} ({describe_seeds([len(entry)])})",
        verdict=_judge_level(median.low, median.high, at_least, at_most),
        detail=_explain("median", median, form=".3g", fewest=6),
    )


def claim_number(
    results: pd.DataFrame,
    setting: str,
    metric: str,
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    **wording: Unpack[Wording],
) -> Claim:
    """Every value of a metric is ``at_least``, or ``at_most``, a number; one value is enough.

    For numbers that do not vary, such as the bytes a compiler plans, and for those measured once
    because their bound is out of the reach of chance.
    """
    (entry,) = entries = _entries(results, metric, [setting])
    if missing := _not_measured(metric, entries):
        return Claim(**wording, detail=missing)
    low, high = np.min(entry.to_numpy()), np.max(entry.to_numpy())  # NaN if one of them is
    return Claim(
        **wording,
        ours=" to ".join(dict.fromkeys(map(describe_number, (low, high)))),
        verdict=_judge_level(low, high, at_least, at_most),
        detail=f"the number itself, without an interval, {describe_seeds([len(entry)])}",
    )


def claim_trend(
    results: pd.DataFrame,
    metric: str,
    settings: Sequence[str],
    *,
    rising: bool,
    positions: Sequence[float] | None = None,
    **wording: Unpack[Wording],
) -> Claim:
    """The metric rises, or falls, along an ordered list of settings.

    Judged by the slope over the list, fitted seed by seed. A slope says nothing of each step by
    itself, so the means along the list are reported with it.

    Args:
        results: the values.
        metric: the metric.
        settings: the settings, in order.
        rising: True when the claim is a rise, False when it is a fall.
        positions: the place of each setting, such as log2 of its context length; by default
            0, 1, 2, ...
        wording: the claim, its place in the paper and the paper's number.
    """
    entries = _entries(results, metric, settings)
    if missing := _not_measured(metric, entries):
        return Claim(**wording, detail=missing)
    slope = paired_slope(entries, positions)
    rises, falls = slope.low > 0, slope.high < 0
    seeds = describe_seeds([len(entry) for entry in entries])
    return Claim(
        **wording,
        ours=f"{', '.join(map(describe_mean, entries))} ({seeds})",
        verdict=judge(holds=rises, fails=falls) if rising else judge(holds=falls, fails=rises),
        detail=_explain("slope", slope, form="+.3f"),
        p=p_value(slope, 0.0),
    )


def judge(*, holds: bool, fails: bool) -> Verdict:
    """The verdict of an interval that may lie wholly on one side."""
    if holds:
        return Verdict.HOLDS
    return Verdict.FAILS if fails else Verdict.INCONCLUSIVE


def with_holm(claims: Sequence[Claim]) -> list[Claim]:
    """Correct the verdicts of an experiment for the number of its claims (Holm 1979).

    A verdict stands if its p value, adjusted for the tests of all claims, is at most .05. Claims
    without a p value are not counted.
    """
    tested = [claim for claim in claims if not math.isnan(claim.p)]
    if not tested:
        return list(claims)
    _, adjusted, *_ = multipletests([claim.p for claim in tested], method="holm")
    in_order = iter(adjusted)
    return [claim if math.isnan(claim.p) else _adjusted(claim, next(in_order)) for claim in claims]


def _adjusted(claim: Claim, p: float) -> Claim:
    verdict = claim.verdict if p <= 1 - CONFIDENCE else Verdict.INCONCLUSIVE
    shown = "< .001" if p < 0.001 else f"= {p:.3f}".replace("0.", ".")
    return dataclasses.replace(claim, verdict=verdict, detail=f"{claim.detail}; Holm p {shown}")


def _judge_level(low: float, high: float, at_least: float, at_most: float) -> Verdict:
    return judge(holds=at_least <= low and high <= at_most, fails=high < at_least or low > at_most)


def _entries(results: pd.DataFrame, metric: str, settings: Sequence[str]) -> list[pd.Series]:
    return [values_of(results, setting, metric).rename(setting) for setting in settings]


def _not_measured(metric: str, entries: Sequence[pd.Series]) -> str:
    missing = [str(entry.name) for entry in entries if entry.empty]
    return f"not measured: {metric} of {'; '.join(missing)}" if missing else ""


def _explain(quantity: str, interval: Interval, *, form: str = ".3f", fewest: int = 2) -> str:
    """The sentence that carries the interval a verdict rests on."""
    seeds = describe_seeds([interval.num_seeds])
    if interval.num_seeds < fewest:
        return f"{quantity} over {seeds}: an interval needs at least {fewest}"
    if math.isnan(interval.mean):
        return f"{quantity} over {seeds}: some value is not finite"
    if math.isinf(interval.low):
        return f"{quantity} over {seeds}: two equal values have no interval"
    return (
        f"{quantity} {interval.mean:{form}}, {CONFIDENCE:.0%} interval "
        f"[{interval.low:{form}}, {interval.high:{form}}], {seeds}"
    )
