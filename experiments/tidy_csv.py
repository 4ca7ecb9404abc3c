"""Tidy csv files, one number a line: reading with errors that say where, writing sorted.

The last column of a file is ``value``; the columns before it are its key and never repeat.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]


class MalformedTableError(ValueError):
    """A table that cannot be read; the message names file, line, field and allowed values."""


def _name(text: str) -> str:
    if not text or text != text.strip() or not text.isprintable():
        raise ValueError("a non-empty name on one line without spaces around it")
    return text


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("an integer from 0 up")
    return int(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number") from None


PARSERS: dict[str, Callable[[str], Any]] = {
    "setting": _name,
    "seed": _count,
    "step": _count,
    "metric": _name,
    "value": _number,
}


def format_value(value: float) -> str:
    """Six significant digits, ``nan`` and ``inf`` as such."""
    return f"{value:.6g}"


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Write the rows, sorted by the columns from left to right.

    Raises:
        ValueError: a row could not be read back as it is.
    """
    lines = [(*row[:-1], format_value(row[-1])) for row in sorted(rows)]
    for line in lines:
        for column, cell in zip(columns, line, strict=True):
            try:
                PARSERS[column](str(cell))
            except ValueError as allowed:
                raise ValueError(f"{column} is {cell!r}; it must be {allowed}.") from None
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(lines)


def read_rows(path: Path, columns: Sequence[str]) -> list[Row]:
    """Read the rows, in the order of the file.

    Raises:
        MalformedTableError: wrong header, a line with too few or too many fields, a field that
            does not parse, or a key that repeats.
        FileNotFoundError: there is no such file.
    """
    rows: dict[Row, Row] = {}
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        if header != list(columns):
            raise MalformedTableError(
                f"{path}:1: the header is {','.join(header)!r}; it must be {','.join(columns)!r}."
            )
        for cells in reader:
            row = _parse(f"{path}:{reader.line_num}", columns, cells)
            if row[:-1] in rows:
                raise MalformedTableError(
                    f"{path}:{reader.line_num}: a second value for {row[:-1]}; "
                    f"{','.join(columns[:-1])} must not repeat."
                )
            rows[row[:-1]] = row
    return list(rows.values())


def _parse(where: str, columns: Sequence[str], cells: Sequence[str]) -> Row:
    if len(cells) != len(columns):
        raise MalformedTableError(
            f"{where}: {len(cells)} fields; there must be {len(columns)}: {','.join(columns)}."
        )
    row = []
    for column, cell in zip(columns, cells, strict=True):
        try:
            row.append(PARSERS[column](cell))
        except ValueError as allowed:
            raise MalformedTableError(
                f"{where}: {column} is {cell!r}; it must be {allowed}."
            ) from None
    return tuple(row)


def union(rows: Iterable[Row]) -> list[Row]:
    """Rows of several tables as one; the same number twice is kept once.

    Numbers are compared as they are written, to six digits.

    Raises:
        ValueError: two rows give one key different values.
    """
    merged: dict[Row, Row] = {}
    for row in rows:
        kept = merged.setdefault(row[:-1], row)
        if format_value(kept[-1]) != format_value(row[-1]):
            raise ValueError(
                f"{row[:-1]} is {format_value(kept[-1])} in one part and "
                f"{format_value(row[-1])} in another."
            )
    return list(merged.values())
