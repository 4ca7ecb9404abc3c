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

from el_jax.plots.tables import SeedTable
from experiments.statistics import (
    CONFIDENCE,
    Interval,
    describe,
    describe_mean,
    describe_seeds,
    paired_difference,
    paired_slope,
    t_interval,
)


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
        ours: our numbers, mean ± standard error and number of seeds.
        verdict: holds, fails or inconclusive.
        detail: the interval the verdict rests on, or the reason why there is none.
    """

    text: str
    source: str
    paper_value: str
    ours: str
    verdict: Verdict
    detail: str


def claim_greater(
    results: SeedTable,
    metric: str,
    better: str,
    worse: str,
    *,
    by: float = 0.0,
    text: str,
    source: str,
    paper_value: str,
) -> Claim:
    """Setting ``better`` has a metric above that of ``worse`` by more than ``by``.

    Judged by the paired difference over the seeds both settings have.
    """
    if missing := _not_measured(results, metric, [better, worse]):
        return Claim(text, source, paper_value, "", Verdict.INCONCLUSIVE, missing)
    first, second = results[better, metric], results[worse, metric]
    difference = paired_difference(first, second)
    verdict = _judge(holds=difference.low > by, fails=difference.high < by)
    ours = f"{describe(first)} against {describe(second)}"
    detail = _explain("paired difference", difference, signed=True)
    return Claim(text, source, paper_value, ours, verdict, detail)


def claim_at_least(
    results: SeedTable,
    setting: str,
    metric: str,
    threshold: float,
    *,
    text: str,
    source: str,
    paper_value: str,
) -> Claim:
    """The metric of a setting is ``threshold`` or more."""
    if missing := _not_measured(results, metric, [setting]):
        return Claim(text, source, paper_value, "", Verdict.INCONCLUSIVE, missing)
    entry = results[setting, metric]
    mean = t_interval(entry.values)
    verdict = _judge(holds=mean.low >= threshold, fails=mean.high < threshold)
    return Claim(text, source, paper_value, describe(entry), verdict, _explain("mean", mean))


def claim_at_most(
    results: SeedTable,
    setting: str,
    metric: str,
    threshold: float,
    *,
    text: str,
    source: str,
    paper_value: str,
) -> Claim:
    """The metric of a setting is ``threshold`` or less."""
    if missing := _not_measured(results, metric, [setting]):
        return Claim(text, source, paper_value, "", Verdict.INCONCLUSIVE, missing)
    entry = results[setting, metric]
    mean = t_interval(entry.values)
    verdict = _judge(holds=mean.high <= threshold, fails=mean.low > threshold)
    return Claim(text, source, paper_value, describe(entry), verdict, _explain("mean", mean))


def claim_trend(
    results: SeedTable,
    metric: str,
    settings: Sequence[str],
    *,
    rising: bool,
    positions: Sequence[float] | None = None,
    text: str,
    source: str,
    paper_value: str,
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
        text: the claim.
        source: its place in the paper.
        paper_value: the paper's number.
    """
    if missing := _not_measured(results, metric, settings):
        return Claim(text, source, paper_value, "", Verdict.INCONCLUSIVE, missing)
    entries = [results[setting, metric] for setting in settings]
    slope = paired_slope(entries, positions)
    rises, falls = slope.low > 0, slope.high < 0
    verdict = _judge(holds=rises, fails=falls) if rising else _judge(holds=falls, fails=rises)
    num_seeds = [len(entry.seeds) for entry in entries]
    ours = f"{', '.join(map(describe_mean, entries))} ({describe_seeds(num_seeds)})"
    return Claim(text, source, paper_value, ours, verdict, _explain("slope", slope, signed=True))


def _not_measured(results: SeedTable, metric: str, settings: Sequence[str]) -> str:
    missing = [setting for setting in settings if (setting, metric) not in results]
    return f"not measured: {metric} of {'; '.join(missing)}" if missing else ""


def _judge(*, holds: bool, fails: bool) -> Verdict:
    if holds:
        return Verdict.HOLDS
    return Verdict.FAILS if fails else Verdict.INCONCLUSIVE


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
