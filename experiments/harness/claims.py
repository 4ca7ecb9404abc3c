"""Claims of the papers as rows, each a test on results with a verdict.

A claim is judged by the 95% Student-t interval of a mean over seeds: it *holds* when the whole
interval is on the claimed side, *fails* when the whole interval is on the other, is *too small to
matter* when the whole interval is nearer to 0 than the least difference that matters, and is
otherwise *undecided*. Settings share seeds, so they are compared by paired differences. With fewer
than two seeds, or two with the same value, a claim is undecided, and if a setting is missing, *not
measured*; neither is an error. ``judging.judged`` then corrects the verdicts of an experiment for
their number.

Timings are judged by the exact interval of their median instead, and numbers that do not vary by
their value. Neither has a p value, so they are not corrected: n rounds cannot give one below 2 /
2**n.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Literal, TypedDict, Unpack

import numpy as np
import pandas as pd

from experiments.harness.judging import (
    Claim,
    Outcome,
    Verdict,
    by_t,
    or_small,
    verdict_of,
    within,
)
from experiments.harness.names import ends_of, least_that_matters
from experiments.harness.sequential import DIFFERENCES, SHARES, judged_by_bets
from experiments.harness.statistics import (
    CONFIDENCE,
    clipped,
    contrast_interval,
    describe,
    describe_mean,
    describe_number,
    describe_seeds,
    explain,
    median_interval,
    p_value,
    paired_difference,
    paired_slope,
    sign_flip_p,
    t_interval,
)
from experiments.harness.tables import Where, by_cell, is_measured, levels, values_of

Test = Literal["t", "signs", "anytime"]


class Wording(TypedDict, total=False):
    """The paper's number and its source, see ``Claim``."""

    paper: str
    source: str


def greater(
    text: str,
    metric: str,
    where: Where,
    than: Where,
    *,
    by: float = 0.0,
    test: Test = "t",
    matters: float | None = None,
    **wording: Unpack[Wording],
) -> Claim:
    """Claim that a metric is higher in one setting than in another by more than ``by``.

    Judged by the paired difference over the seeds both settings have.

    Args:
        text: the claim.
        metric: the metric; a share in [0, 1] for ``anytime``.
        where: the setting.
        than: the other one.
        by: the bound on the difference.
        test: the t interval; a sign-flip test, which suits shares near 0 or 1; or bets, which may
            be checked after every seed.
        matters: the least difference that matters, in either direction: one shown to be nearer to 0
            is too small to matter. None for ``names.MATTERS`` if the metric is a share.
        wording: the paper's number and its place.
    """
    least = least_that_matters(metric) if matters is None else matters

    def judge(results: pd.DataFrame) -> Outcome:
        first, second = (values_of(results, one, metric) for one in (where, than))
        ours = f"{describe(first)} against {describe(second)}"
        if test == "anytime":
            shared = first.index.intersection(second.index)
            pairs = (first[shared] - second[shared]).to_numpy()  # a diverged run stays NaN
            found = judged_by_bets("paired difference", pairs, by, DIFFERENCES, matters=least)
            return dataclasses.replace(found, ours=ours)
        difference = paired_difference(first, second)
        if test == "t":
            return by_t("paired difference", difference, by, least, ours)
        p = sign_flip_p(first, second, by)
        decided = p <= 1 - CONFIDENCE
        holds, fails = decided and difference.mean > by, decided and difference.mean < by
        explained = explain("paired difference", difference, form="+.3f")
        return Outcome(explained, ours, verdict_of(holds=holds, fails=fails), p)

    needs = [(where, metric), (than, metric)]
    return Claim(text, judge, needs=needs, anytime=test == "anytime", **wording)


Terms = Sequence[tuple[float, Where]]
"""Weights, each for the mean over the settings under its ``Where``."""


def contrast(
    text: str,
    metric: str,
    terms: Terms,
    *,
    by: float = 0.0,
    ours: str = "",
    matters: float | None = None,
    **wording: Unpack[Wording],
) -> Claim:
    """Claim that a weighted sum of means over settings is above a bound: main effect, interaction.

    Args:
        text: the claim.
        metric: the metric.
        terms: the weights, and the settings of each; for a difference they sum to 0.
        by: the bound.
        ours: the numbers to show, by default how many settings each term has; the detail has the
            interval.
        matters: see ``greater``.
        wording: the paper's number and its place.
    """

    def judge(results: pd.DataFrame) -> Outcome:
        entries, weights, counts = [], [], []
        for weight, where in terms:
            found = by_cell(results, where, metric)
            entries += found
            weights += [weight / len(found)] * len(found)
            counts.append(f"{len(found)}")
        least = least_that_matters(metric) if matters is None else matters
        shown = ours or f"over {', '.join(counts)} settings"
        return by_t("contrast", contrast_interval(entries, weights), by, least, shown)

    return Claim(text, judge, needs=[(where, metric) for _, where in terms], **wording)


def level(
    text: str,
    metric: str,
    where: Where,
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    test: Literal["t", "anytime"] = "t",
    matters: float = 0.0,
    **wording: Unpack[Wording],
) -> Claim:
    """Claim that the metric of a setting is ``at_least``, or ``at_most``, a number.

    For a metric that is a difference, the verdict is *too small to matter* if it is shown to be
    nearer to 0 than ``matters``.

    Raises:
        ValueError: a test ``anytime`` (see ``greater``) has both bounds.
    """
    if test == "anytime" and math.isfinite(at_least) and math.isfinite(at_most):
        raise ValueError(f"{text!r}: a test anytime takes at_least or at_most, not both.")

    def judge(results: pd.DataFrame) -> Outcome:
        entry = values_of(results, where, metric)
        if test == "anytime":
            above = math.isfinite(at_least)
            bound = at_least if above else at_most
            found = judged_by_bets("mean", entry.to_numpy(), bound, SHARES, above=above)
            return dataclasses.replace(found, ours=describe(entry))
        mean, bounds = t_interval(entry), filter(math.isfinite, (at_least, at_most))
        outcome = Outcome(
            explain("mean", clipped(mean, *ends_of(metric))),
            describe(entry),
            within(mean.low, mean.high, at_least, at_most),
            # of the nearer one; a difference of 0 is no gain
            max(p_value(mean, bound, at_bound=float(matters > 0)) for bound in bounds),
        )
        return or_small(outcome, mean, matters)

    needs = [(where, metric)]
    return Claim(text, judge, needs=needs, anytime=test == "anytime", **wording)


def median(
    text: str,
    metric: str,
    where: Where,
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    **wording: Unpack[Wording],
) -> Claim:
    """Claim that the median of a metric is ``at_least``, or ``at_most``, a number: for timings."""

    def judge(results: pd.DataFrame) -> Outcome:
        entry = values_of(results, where, metric)
        interval = median_interval(entry)
        return Outcome(
            explain("median", interval, form=".3g", fewest=6),
            f"{describe_number(interval.mean)} ({describe_seeds([len(entry)])})",
            within(interval.low, interval.high, at_least, at_most),
        )

    return Claim(text, judge, needs=[(where, metric)], **wording)


def number(
    text: str,
    metric: str,
    *where: Where,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    **wording: Unpack[Wording],
) -> Claim:
    """Claim that every value of a metric is ``at_least``, or ``at_most``, a number; one is enough.

    For numbers that do not vary, such as the bytes a compiler plans, for numbers measured once
    because chance cannot reach their bound, and for what every run did, which says nothing of other
    runs. There may be several settings.
    """

    def judge(results: pd.DataFrame) -> Outcome:
        found = [entry for one in where for entry in by_cell(results, one, metric)]
        entry = pd.concat(found).to_numpy()
        low, high = np.min(entry), np.max(entry)  # NaN if one of them is
        settings = f"{len(found)} settings, " * (len(found) > 1)
        seeds = describe_seeds([len(one) for one in found])
        return Outcome(
            f"the number itself, without an interval, {settings}{seeds}",
            " to ".join(dict.fromkeys(map(describe_number, (low, high)))),
            within(low, high, at_least, at_most),
        )

    return Claim(text, judge, needs=[(one, metric) for one in where], **wording)


def trend(
    text: str,
    metric: str,
    where: Where,
    along: str,
    *,
    rising: bool,
    position: Callable[[float], float] | None = None,
    **wording: Unpack[Wording],
) -> Claim:
    """Claim that the metric rises, or falls, along the levels of a factor.

    Judged by the slope over the levels, fitted seed by seed. A slope does not describe single
    steps, so the means along the factor are reported with it.

    Args:
        text: the claim.
        metric: the metric.
        where: the settings; they differ in nothing but ``along``.
        along: the factor, a number; its levels are taken in ascending order.
        rising: True when the claim is a rise, False when it is a fall.
        position: the place of a level, such as its log2; by default levels are 0, 1, 2, ...
        wording: the paper's number and its place.
    """

    def judge(results: pd.DataFrame) -> Outcome:
        found = [
            one
            for one in levels(results, along, where)
            if is_measured(results, {**where, along: one}, metric)
        ]
        if len(found) < 2:
            return Outcome(f"{metric} at two values of {along}", verdict=Verdict.NOT_MEASURED)
        entries = [values_of(results, {**where, along: one}, metric) for one in found]
        slope = paired_slope(entries, [position(one) for one in found] if position else None)
        rises, falls = slope.low > 0, slope.high < 0
        seeds = describe_seeds([len(entry) for entry in entries])
        return Outcome(
            explain("slope", slope, form="+.3f"),
            f"{', '.join(map(describe_mean, entries))} ({seeds})",
            verdict_of(holds=rises if rising else falls, fails=falls if rising else rises),
            p_value(slope, 0.0),
        )

    return Claim(text, judge, needs=[(where, metric)], **wording)
