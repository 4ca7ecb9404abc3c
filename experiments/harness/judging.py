"""Claims, outcomes of their tests, and verdicts corrected for the number of claims."""

import dataclasses
import enum
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float

from experiments.harness.names import name_of
from experiments.harness.statistics import CONFIDENCE, Interval, explain, p_as_large, p_value
from experiments.harness.tables import Where, is_measured

OURS = "not in the paper"


class Verdict(enum.Enum):
    """The outcome of testing a claim on the results."""

    HOLDS = "holds"
    FAILS = "fails"
    SMALL = "too small to matter"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of testing a claim.

    Attributes:
        detail: the interval behind the verdict, or the reason why there is none.
        ours: our numbers, mean ± standard error and number of seeds; empty if not measured.
        verdict: see ``Verdict``.
        p: two-sided p value of the hypothesis that the quantity is at the claim's bound; NaN if not
            tested.
    """

    detail: str
    ours: str = ""
    verdict: Verdict = Verdict.UNDECIDED
    p: float = math.nan


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim, fixed before the run.

    Attributes:
        text: the claim, one sentence.
        judge: its test on results.
        paper: the paper's number, or its words if it gives none.
        source: its place in the paper, such as ``Yang et al. 2025, Table 3``.
        needs: the settings and metrics it concerns.
        anytime: its verdict may be checked after every seed, and may end the run.
    """

    text: str
    judge: Callable[[pd.DataFrame], Outcome]
    paper: str = ""
    source: str = OURS
    needs: Sequence[tuple[Where, str]] = ()
    anytime: bool = False


class Judged(NamedTuple):
    """A claim and its outcome."""

    claim: Claim
    outcome: Outcome


def if_open(gate: Claim, claims: Sequence[Claim]) -> list[Claim]:
    """Claims that get a verdict only if another claim, the gate, holds by itself."""

    def behind(claim: Claim) -> Claim:
        def judge(results: pd.DataFrame) -> Outcome:
            outcome = claim.judge(results)
            measured = all(is_measured(results, where, metric) for where, metric in gate.needs)
            if measured and gate.judge(results).verdict is Verdict.HOLDS:
                return outcome
            detail = f"not judged, the gate is closed; {outcome.detail}"
            return Outcome(detail, outcome.ours)

        return dataclasses.replace(claim, judge=judge)

    return [behind(claim) for claim in claims]


def verdict_of(*, holds: bool, fails: bool) -> Verdict:
    """The verdict for an interval that may lie wholly on one side."""
    if holds:
        return Verdict.HOLDS
    return Verdict.FAILS if fails else Verdict.UNDECIDED


def by_t(quantity: str, interval: Interval, by: float, matters: float, ours: str) -> Outcome:
    """The outcome of testing, by its interval, whether a difference is above ``by``."""
    verdict = verdict_of(holds=interval.low > by, fails=interval.high < by)
    explained = explain(quantity, interval, form="+.3f")
    return or_small(Outcome(explained, ours, verdict, p_value(interval, by)), interval, matters)


def or_small(outcome: Outcome, interval: Interval, matters: float) -> Outcome:
    """The outcome, or too small to matter if undecided and shown to be nearer to 0 than matters."""
    p = p_as_large(interval, matters)
    if outcome.verdict is not Verdict.UNDECIDED or p > 1 - CONFIDENCE:
        return outcome
    return dataclasses.replace(outcome, verdict=Verdict.SMALL, p=p)


def within(low: float, high: float, at_least: float, at_most: float) -> Verdict:
    """The verdict on whether an interval lies between two bounds."""
    return verdict_of(
        holds=at_least <= low and high <= at_most, fails=high < at_least or low > at_most
    )


def judged(
    claims: Sequence[Claim],
    results: pd.DataFrame,
    not_measured: Mapping[str, str] | None = None,
    looks: int = 1,
) -> list[Judged]:
    """Judge claims, and correct the verdicts for their number (Holm 1979).

    A verdict stands if its p value, adjusted for the tests of all claims and multiplied by the
    number of looks (Bonferroni), is at most .05. Claims without a p value are not counted.

    Args:
        claims: the claims of one experiment.
        results: the values.
        not_measured: name of a setting that could not be measured -> the reason.
        looks: number of looks at the verdicts, including this one: 2 if seeds were added after a
            first look.
    """
    outcomes = [_outcome(claim, results, not_measured or {}) for claim in claims]
    tested = [i for i, outcome in enumerate(outcomes) if not math.isnan(outcome.p)]
    if tested:
        adjusted = np.minimum(looks * holm(np.array([outcomes[i].p for i in tested])), 1.0)
        for i, p in zip(tested, adjusted, strict=True):
            outcomes[i] = _adjusted(outcomes[i], p)
    return [Judged(claim, outcome) for claim, outcome in zip(claims, outcomes, strict=True)]


def holm(ps: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """P values adjusted for their number (Holm 1979).

    The version in statsmodels collects garbage at every call, which took a third of a report's
    time.
    """
    order = np.argsort(ps)
    steps = np.maximum.accumulate(ps[order] * np.arange(len(ps), 0, -1))
    return np.minimum(steps, 1.0)[np.argsort(order)]


def _outcome(claim: Claim, results: pd.DataFrame, reasons: Mapping[str, str]) -> Outcome:
    missing = [(where, m) for where, m in claim.needs if not is_measured(results, where, m)]
    if not missing:
        return claim.judge(results)
    names = [name_of({f: v for f, v in where.items() if v is not None}) for where, _ in missing]
    known = [reasons[name] for name in names if name in reasons]
    reason = known[0] if known else f"{missing[0][1]} of " + "; ".join(names)
    return Outcome(reason, verdict=Verdict.NOT_MEASURED)


def _adjusted(outcome: Outcome, p: float) -> Outcome:
    verdict = outcome.verdict if p <= 1 - CONFIDENCE else Verdict.UNDECIDED
    shown = "< .001" if p < 0.001 else f"= {p:.3f}".replace("0.", ".")
    detail = f"{outcome.detail}; Holm p {shown}"
    return dataclasses.replace(outcome, verdict=verdict, detail=detail)
