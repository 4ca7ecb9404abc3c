"""Claims of the papers as tests on results: the paper's number, our numbers, and a verdict.

A claim is judged by the 95% Student-t interval of a mean over seeds: it *holds* when the whole
interval is on the claimed side, *fails* when the whole interval is on the other, and is
*inconclusive* otherwise. Seeds are shared between settings, so settings are compared by their
difference seed by seed. Fewer than two seeds, two with the same value, or a setting not measured
is inconclusive, never an error: a partial run still reports its claims. The intervals are not
corrected for the number of claims.
"""

import dataclasses
import enum
import math
from collections.abc import Sequence
from typing import TypedDict, Unpack

import pandas as pd

from experiments.harness.statistics import (
    CONFIDENCE,
    Interval,
    describe,
    describe_mean,
    describe_seeds,
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
    """

    text: str
    source: str
    paper_value: str
    detail: str
    ours: str = ""
    verdict: Verdict = Verdict.INCONCLUSIVE


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
        detail=_explain("paired difference", difference, signed=True),
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
    return Claim(
        **wording,
        ours=describe(entry),
        verdict=judge(
            holds=at_least <= mean.low and mean.high <= at_most,
            fails=mean.high < at_least or mean.low > at_most,
        ),
        detail=_explain("mean", mean),
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
        detail=_explain("slope", slope, signed=True),
    )


def judge(*, holds: bool, fails: bool) -> Verdict:
    """The verdict of an interval that may lie wholly on one side."""
    if holds:
        return Verdict.HOLDS
    return Verdict.FAILS if fails else Verdict.INCONCLUSIVE


def _entries(results: pd.DataFrame, metric: str, settings: Sequence[str]) -> list[pd.Series]:
    return [values_of(results, setting, metric).rename(setting) for setting in settings]


def _not_measured(metric: str, entries: Sequence[pd.Series]) -> str:
    missing = [str(entry.name) for entry in entries if entry.empty]
    return f"not measured: {metric} of {'; '.join(missing)}" if missing else ""


def _explain(quantity: str, interval: Interval, *, signed: bool = False) -> str:
    """The sentence that carries the interval a verdict rests on."""
    seeds = describe_seeds([interval.num_seeds])
    if interval.num_seeds < 2:
        return f"{quantity} over {seeds}: an interval needs at least 2"
    if math.isnan(interval.mean):
        return f"{quantity} over {seeds}: some value is not finite"
    if math.isinf(interval.low):
        return f"{quantity} over {seeds}: two equal values have no interval"
    form = "+.3f" if signed else ".3f"
    return (
        f"{quantity} {interval.mean:{form}}, {CONFIDENCE:.0%} interval "
        f"[{interval.low:{form}}, {interval.high:{form}}], {seeds}"
    )
