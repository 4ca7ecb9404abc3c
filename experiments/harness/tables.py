"""results.csv and curves.csv as pandas frames, one number a row.

Both are tidy: columns ``setting,seed,metric,value`` and ``setting,seed,step,metric,value``. A file
is sorted and has six significant digits, so that a rerun shows up in version control as the numbers
that changed.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from el_jax.plots.tables import Curve, CurveTable, SeedTable, SeedValues

MAX_MARKS = 60  # of a curve in its file


class MalformedTableError(ValueError):
    """A table that cannot be read; the message names file, line, field and allowed values."""


def _is_name(text: str) -> bool:
    return bool(text) and text == text.strip() and text.isprintable()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


Field = tuple[Callable[[str], Any], str]
"""A test of the texts of a column, and its words."""
NAME: Field = (_is_name, "a non-empty name on one line without spaces around it")
COUNT: Field = (re.compile(r"[0-9]+").fullmatch, "an integer from 0 up")
NUMBER: Field = (_is_number, "a number")
RESULTS = {"setting": NAME, "seed": COUNT, "metric": NAME, "value": NUMBER}
CURVES = {"setting": NAME, "seed": COUNT, "step": COUNT, "metric": NAME, "value": NUMBER}
_TYPES = {"setting": str, "metric": str, "seed": int, "step": int, "value": float}


def results_frame(rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Rows of results.csv as a frame."""
    return _typed(pd.DataFrame(list(rows), columns=list(RESULTS)))


def curves_frame(rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Rows of curves.csv as a frame."""
    return _typed(pd.DataFrame(list(rows), columns=list(CURVES)))


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype({column: _TYPES[column] for column in frame.columns})


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def read_results(path: Path) -> pd.DataFrame:
    """Read results.csv.

    Raises:
        MalformedTableError: the file is not such a table.
        FileNotFoundError: there is no such file.
    """
    return _typed(read_cells(path, RESULTS, 3))


def read_curves(path: Path) -> pd.DataFrame:
    """Read curves.csv.

    Raises:
        MalformedTableError: the file is not such a table.
        FileNotFoundError: there is no such file.
    """
    curves = _typed(read_cells(path, CURVES, 4))
    try:
        curve_table(curves)
    except ValueError as error:
        raise MalformedTableError(f"{path}: {error}") from None
    return curves


def write_results(path: Path, results: pd.DataFrame) -> None:
    """Write results.csv.

    Raises:
        ValueError: a row could not be read back as it is.
    """
    _write(path, results, RESULTS)


def write_curves(path: Path, curves: pd.DataFrame, *, max_marks: int = MAX_MARKS) -> None:
    """Write curves.csv, every curve thinned to ``max_marks``.

    Raises:
        ValueError: a row could not be read back as it is, or the seeds of a curve were measured
            at different steps.
    """
    curve_table(curves)
    _write(path, thin(curves, max_marks), CURVES)


def read_cells(path: Path, fields: Mapping[str, Field], num_keys: int) -> pd.DataFrame:
    """Read a csv file as texts, checked.

    Args:
        path: the file.
        fields: its columns, with what each must be.
        num_keys: the first so many columns together must not repeat.

    Raises:
        MalformedTableError: a wrong header, a line with too many fields, a field that is not what
            it must be, or a key that repeats.
        FileNotFoundError: there is no such file.
    """
    columns = ",".join(fields)
    # one column too many, so that a field too many is a cell and not an error of the parser
    try:
        cells = pd.read_csv(
            path, header=None, names=[*fields, ""], dtype=object, keep_default_na=False,
            skip_blank_lines=False, encoding="utf-8",
        ).fillna("")  # fmt: skip
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise MalformedTableError(f"{path}: {error}; it must be {columns!r}.") from None
    header = list(cells.iloc[:1].to_numpy().ravel())
    if header != [*fields, ""]:
        given = ",".join(header).rstrip(",")
        raise MalformedTableError(f"{path}:1: the header is {given!r}; it must be {columns!r}.")
    cells.index += 1  # lines are counted from 1
    rows = cells.iloc[1:]
    if (longer := rows[""] != "").any():
        raise MalformedTableError(
            f"{path}:{longer.idxmax()}: more than {len(fields)} fields: {columns}."
        )
    if fault := _fault(rows[[*fields]], fields, num_keys):
        raise MalformedTableError(f"{path}:{fault[0]}: {fault[1]}")
    return rows[[*fields]].reset_index(drop=True)


def _write(path: Path, frame: pd.DataFrame, fields: Mapping[str, Field]) -> None:
    *keys, _ = fields
    written = frame[[*fields]].sort_values(keys)
    if fault := _fault(written.astype(str), fields, len(keys)):
        raise ValueError(fault[1])
    written.to_csv(
        path, index=False, float_format="%.6g", na_rep="nan", lineterminator="\n", encoding="utf-8"
    )


def _fault(
    cells: pd.DataFrame, fields: Mapping[str, Field], num_keys: int
) -> tuple[int, str] | None:
    """The first row of texts that is no row of a table: its label, and the fault."""
    for column, (fits, allowed) in fields.items():
        for line, text in cells[column].items():
            if not fits(text):
                return line, f"{column} is {text!r}; it must be {allowed}."
    keys = list(fields)[:num_keys]
    if (again := cells.duplicated(keys)).any():
        line = again.idxmax()
        return line, f"a second value for {tuple(cells.loc[line, keys])}: {','.join(keys)} repeats."
    return None


def thin(curves: pd.DataFrame, max_marks: int) -> pd.DataFrame:
    """At most ``max_marks`` marks a curve, even in rank, the first and the last among them.

    Even in rank keeps the spacing the run chose: marks dense early stay dense early.

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

    by_curve = curves.groupby(["setting", "metric"])["step"]
    return curves[by_curve.transform(kept).astype(bool)]


# ── parts of a frame ─────────────────────────────────────────────────────────────────────────────


def values_of(results: pd.DataFrame, setting: str, metric: str) -> pd.Series:
    """The values of one metric of one setting by seed, seeds ascending; empty if not measured."""
    rows = results[(results["setting"] == setting) & (results["metric"] == metric)]
    return rows.set_index("seed")["value"].sort_index()


def settings_with(results: pd.DataFrame, metric: str) -> set[str]:
    """The settings of which a metric was measured."""
    return set(results["setting"][results["metric"] == metric])


def with_parts(frame: pd.DataFrame, pattern: str) -> pd.DataFrame:
    """The rows whose setting's name has a pattern, with a column for each of its parts.

    Args:
        frame: results or curves.
        pattern: a regular expression of whole names; each named group becomes a column, of
            integers where all of its texts are.
    """
    parts = frame["setting"].str.extract(f"^(?:{pattern})$").dropna()
    for name in parts:
        if parts[name].str.fullmatch(r"[0-9]+").all():
            parts[name] = parts[name].astype(int)
    return frame.join(parts, how="inner")


def seed_table(results: pd.DataFrame) -> SeedTable:
    """Results as ``(setting, metric) -> SeedValues``, which the functions of figures take."""
    return {
        key: SeedValues(tuple(group["seed"]), group["value"].to_numpy())
        for key, group in results.sort_values("seed").groupby(["setting", "metric"])
    }


def curve_table(curves: pd.DataFrame) -> CurveTable:
    """Curves as ``(setting, metric) -> Curve``, which the functions of figures take.

    Raises:
        ValueError: the seeds of a curve were not measured at the same steps.
    """
    return {key: _curve(key, group) for key, group in curves.groupby(["setting", "metric"])}


def _curve(key: tuple[str, str], rows: pd.DataFrame) -> Curve:
    wide = rows.pivot(index="seed", columns="step", values="value")
    if wide.size != len(rows):
        counts = rows["step"].value_counts()
        step = counts.index[counts < len(wide)].min()
        raise ValueError(
            f"{key[0]!r}, {key[1]!r}: not every seed has step {step}; "
            "all seeds of a curve need the same steps."
        )
    return Curve(tuple(wide.index), wide.columns.to_numpy(), wide.to_numpy())
