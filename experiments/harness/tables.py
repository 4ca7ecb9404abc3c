"""results.csv and curves.csv: tidy tables, one number per row.

The columns of results.csv are the factors of a run, then ``seed, metric, value``; those of
curves.csv have ``step`` after ``seed``. A factor that a run does not have is an empty cell. A file
is sorted and has six significant digits, so after a rerun version control shows only the numbers
that changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MAX_MARKS = 60  # per curve in a file
RESULTS = ("seed", "metric", "value")
CURVES = ("seed", "step", "metric", "value")

Where = Mapping[str, Any]
"""Factor -> its value, a tuple of values, or None where the factor must be absent."""


class MalformedTableError(ValueError):
    """A table that cannot be read; the message names the file and what is wrong."""


def tidy(rows: Iterable[Mapping[str, Any]], last: Sequence[str] = ()) -> pd.DataFrame:
    """Make a table of rows, each with its factors and the columns that come last.

    Args:
        rows: the rows of one table.
        last: ``RESULTS`` or ``CURVES``; by default inferred from the rows, which must not be empty.
    """
    frame = pd.DataFrame(list(rows))
    return _ordered(frame, last or _last(frame))


def _ordered(frame: pd.DataFrame, last: Sequence[str]) -> pd.DataFrame:
    frame = frame.reindex(columns=[*factors_of(frame), *last])
    counts = {column: int for column in last if column in ("seed", "step")}
    return frame.astype({**counts, "metric": str, "value": float})


def factors_of(frame: pd.DataFrame) -> list[str]:
    """The factors of a table: its columns other than seed, step, metric and value."""
    return [column for column in frame.columns if column not in CURVES]


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def read_table(path: Path) -> pd.DataFrame:
    """Read results.csv or curves.csv.

    Raises:
        MalformedTableError: the file is not such a table.
        FileNotFoundError: there is no such file.
    """
    try:
        # a word such as "none" names a level; only an empty cell is missing
        frame = pd.read_csv(path, keep_default_na=False, na_values=[""], encoding="utf-8")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise MalformedTableError(f"{path}: {error}.") from None
    last = _last(frame)
    ends = ",".join(last)
    if tuple(frame.columns[-len(last) :]) != tuple(last):
        given = ",".join(frame.columns)
        raise MalformedTableError(f"{path}: the header is {given!r}; it must end with {ends!r}.")
    for column in set(last) - {"metric"}:
        numbers, what = pd.to_numeric(frame[column], errors="coerce"), "a number"
        wrong = numbers.isna() & (frame[column].astype(str).str.lower() != "nan")
        if column != "value":  # seeds and steps count, and none is unknown
            wrong, what = numbers % 1 != 0, "a whole number"
        if wrong.any():
            line = int(wrong.idxmax()) + 2
            given = frame[column].astype(object).fillna("").iloc[line - 2]
            raise MalformedTableError(f"{path}:{line}: {column} is {given!r}; it must be {what}.")
        frame[column] = numbers
    frame = _ordered(frame, last)
    if fault := _repeated(frame):
        raise MalformedTableError(f"{path}: {fault}.")
    return frame


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Write results.csv, or curves.csv with at most ``MAX_MARKS`` marks a curve.

    Raises:
        ValueError: two rows have the same factors (to six digits), seed, step and metric.
    """
    last = _last(frame)
    if last == CURVES:
        frame = thin(frame, MAX_MARKS)
    floats = frame[factors_of(frame)].select_dtypes("float")
    frame = frame.assign(**floats.map(lambda number: float(f"{number:.6g}")))
    if fault := _repeated(frame):
        raise ValueError(f"{path}: {fault}.")
    frame = _ordered(frame, last)  # joined tables with different factors have theirs at the end
    keys = [*factors_of(frame), *last[:-1]]
    written = frame.sort_values(keys)
    # an unknown number is written nan, and an absent factor as an empty cell
    values = written["value"].map(lambda value: f"{value:.6g}")
    written.assign(value=values).to_csv(
        path, index=False, float_format="%.6g", lineterminator="\n", encoding="utf-8"
    )


def _last(frame: pd.DataFrame) -> Sequence[str]:
    return CURVES if "step" in frame else RESULTS


def _repeated(frame: pd.DataFrame) -> str:
    """The first row with the same keys as another, in words; empty if there is none."""
    keys = [column for column in frame.columns if column != "value"]
    again = frame.duplicated(keys)
    if not again.any():
        return ""
    return f"a second value for {frame.loc[again, keys].iloc[0].dropna().to_dict()}"


def thin(curves: pd.DataFrame, max_marks: int) -> pd.DataFrame:
    """At most ``max_marks`` marks per curve, evenly spaced in rank, including the first and last.

    Even spacing in rank keeps the run's spacing: marks dense early stay dense early.

    Raises:
        ValueError: ``max_marks`` is below 2.
    """
    if max_marks < 2:
        raise ValueError(f"max_marks={max_marks} must be at least 2, the first and the last.")

    def kept(steps: pd.Series) -> pd.Series:
        marks = np.unique(steps)
        if len(marks) > max_marks:
            marks = marks[np.round(np.linspace(0, len(marks) - 1, max_marks)).astype(int)]
        return steps.isin(marks)

    by_curve = curves.groupby([*factors_of(curves), "metric"], dropna=False)["step"]
    return curves[by_curve.transform(kept).astype(bool)]


# ── parts of a table ─────────────────────────────────────────────────────────────────────────────


def select(frame: pd.DataFrame, where: Where, metric: str | None = None) -> pd.DataFrame:
    """The rows whose factors have the given values, for one metric if given.

    Raises:
        ValueError: the table has no such factor.
    """
    kept = pd.Series(True, frame.index)
    if metric is not None:
        kept &= frame["metric"] == metric
    for factor, value in where.items():
        if factor in frame:
            kept &= _equals(frame[factor], value)
        elif value is not None:
            raise ValueError(f"no factor {factor!r}; there are {factors_of(frame)}.")
    return frame[kept]


def _equals(column: pd.Series, value: object) -> pd.Series:
    if value is None:
        return column.isna()
    if isinstance(value, tuple):
        return pd.concat([_equals(column, one) for one in value], axis=1).any(axis=1)
    if isinstance(value, int | float) and pd.api.types.is_numeric_dtype(column):
        return pd.Series(np.isclose(column, value, rtol=1e-5, atol=0), column.index)
    return column == value


def cells(frame: pd.DataFrame, where: Where, metric: str | None = None) -> list[dict[str, Any]]:
    """The settings under ``where``, each as the factors it has, in the table's order."""
    rows = select(frame, where, metric)[factors_of(frame)].drop_duplicates()
    return [
        {factor: value for factor, value in row.items() if pd.notna(value)}
        for row in rows.to_dict("records")
    ]


def exactly(frame: pd.DataFrame, cell: Where) -> Where:
    """A setting of a table, with None for every factor that it does not have."""
    return {factor: cell.get(factor) for factor in factors_of(frame)}


def levels(frame: pd.DataFrame, factor: str, where: Where | None = None) -> list[Any]:
    """The values of a factor, ascending."""
    return sorted(select(frame, where or {})[factor].dropna().unique())


def by_cell(frame: pd.DataFrame, where: Where, metric: str) -> list[pd.Series]:
    """The values of a metric by seed, seeds ascending, one series for each setting."""
    rows = select(frame, where, metric)
    factors = factors_of(rows)
    groups = [g for _, g in rows.groupby(factors, dropna=False, sort=False)] if factors else [rows]
    return [group.set_index("seed")["value"].sort_index() for group in groups if len(group)]


def values_of(frame: pd.DataFrame, where: Where, metric: str) -> pd.Series:
    """The values of a metric of one setting by seed, seeds ascending; empty if not measured.

    Raises:
        ValueError: ``where`` leaves more than one setting.
    """
    found = by_cell(frame, where, metric)
    if len(found) > 1:
        named = cells(frame, where, metric)
        open_factors = [f for f in factors_of(frame) if len({cell.get(f) for cell in named}) > 1]
        raise ValueError(
            f"{metric} where {dict(where)} is that of {len(found)} settings; say which "
            f"{', '.join(open_factors)}."
        )
    return found[0] if found else pd.Series([], pd.Index([], int), dtype=float, name="value")


def is_measured(frame: pd.DataFrame, where: Where, metric: str) -> bool:
    """True if the table has a value of the metric under ``where``."""
    known = set(frame.columns)
    return known.issuperset(f for f, v in where.items() if v is not None) and not (
        select(frame, where, metric).empty
    )
