"""Rows of a benchmark's results.csv, with their goals and verdicts."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from experiments.bench.paired import Estimate
from experiments.harness.tables import NAME, NUMBER, Field, MalformedTableError, read_cells

MET, MISSED, INCONCLUSIVE = "met", "missed", "inconclusive"
NO_GOAL, NOT_MEASURED = "no goal", "not measured"
VERDICTS = (MET, MISSED, INCONCLUSIVE, NO_GOAL, NOT_MEASURED)


class Goal(NamedTuple):
    """A bound that a quantity should keep."""

    relation: Literal["<=", ">="]
    bound: float

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:g}"

    def verdict(self, low: float, high: float) -> str:
        """Met or missed where both ends of the interval agree, inconclusive where they differ."""
        reached = [end <= self.bound if self.relation == "<=" else end >= self.bound
                   for end in (low, high)]  # fmt: skip
        return INCONCLUSIVE if reached[0] != reached[1] else MET if reached[0] else MISSED


def at_most(bound: float) -> Goal:
    """A goal of at most ``bound``."""
    return Goal("<=", bound)


def at_least(bound: float) -> Goal:
    """A goal of at least ``bound``."""
    return Goal(">=", bound)


class Row(NamedTuple):
    """One measured number.

    Attributes:
        benchmark: its name on the command line.
        case: model, sizes and loss of the measurement.
        quantity: name of the number, with its unit unless it is a ratio.
        value: the number; None where it was not measured.
        low: lower end of its 95 % interval; None where it has none.
        high: upper end; None likewise.
        goal: the bound that the number should keep, or an empty string.
        verdict: one of ``VERDICTS``; "not measured" is followed by a colon and the reason.
    """

    benchmark: str
    case: str
    quantity: str
    value: float | None
    low: float | None
    high: float | None
    goal: str
    verdict: str


def _is_number(text: str) -> bool:
    return not text or (NUMBER[0](text) and math.isfinite(float(text)))


_NUMBER: Field = (_is_number, "a finite number or nothing")
_ANY: Field = (str.isprintable, "on one line")
_VERDICT: Field = (lambda text: text.split(":")[0] in VERDICTS, f"one of {VERDICTS}")
COLUMNS: dict[str, Field] = {
    **dict.fromkeys(("benchmark", "case", "quantity"), NAME),
    **dict.fromkeys(("value", "low", "high"), _NUMBER),
    "goal": _ANY,
    "verdict": _VERDICT,
}


def rounded(number: float) -> float:
    """The number as results.csv has it, in four significant digits."""
    return float(f"{number:.4g}")


def estimated(
    benchmark: str, case: str, quantity: str, estimate: Estimate, goal: Goal | None = None
) -> Row:
    """A number with an interval, whose ends, rounded as they are written, decide about the goal."""
    estimate = Estimate(*map(rounded, estimate))
    verdict = goal.verdict(estimate.low, estimate.high) if goal else NO_GOAL
    return Row(benchmark, case, quantity, *estimate, str(goal or ""), verdict)


def exact(benchmark: str, case: str, quantity: str, value: float, goal: Goal | None = None) -> Row:
    """A number without an interval: planned, counted, or measured once."""
    value = rounded(value)
    verdict = goal.verdict(value, value) if goal else NO_GOAL
    return Row(benchmark, case, quantity, value, None, None, str(goal or ""), verdict)


def not_measured(
    benchmark: str, case: str, quantity: str, reason: str, goal: Goal | None = None
) -> Row:
    """A quantity that was not measured, with the reason."""
    verdict = f"{NOT_MEASURED}: {reason}"
    return Row(benchmark, case, quantity, None, None, None, str(goal or ""), verdict)


def merge(old: Iterable[Row], new: Sequence[Row], order: Sequence[str]) -> list[Row]:
    """The rows of all benchmarks, those of ``new`` in place of the old ones of the same benchmark.

    Args:
        old: the rows of earlier measurements.
        new: the rows measured now.
        order: names of the benchmarks; a row of any other is dropped.
    """
    measured = {row.benchmark for row in new}
    rows = [*new, *(row for row in old if row.benchmark not in measured)]
    return sorted(
        (row for row in rows if row.benchmark in order), key=lambda row: order.index(row.benchmark)
    )


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write results.csv; numbers have four significant digits."""
    frame = pd.DataFrame(list(rows), columns=list(COLUMNS))
    frame.to_csv(path, index=False, float_format="%.4g", lineterminator="\n", encoding="utf-8")


def read_rows(path: Path) -> list[Row]:
    """Read results.csv.

    Raises:
        MalformedTableError: a wrong header, an impossible cell, or a number given twice.
        FileNotFoundError: there is no such file.
    """
    rows = []
    for line, cells in enumerate(read_cells(path, COLUMNS, 3).itertuples(index=False), 2):
        numbers = [float(text) if text else None for text in cells[3:6]]
        row = Row(*cells[:3], *numbers, *cells[6:])
        if (row.value is None) != row.verdict.startswith(NOT_MEASURED):
            raise MalformedTableError(
                f"{path}:{line}: a number and {row.verdict!r} exclude each other."
            )
        rows.append(row)
    return rows
