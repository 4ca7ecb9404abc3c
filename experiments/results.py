"""The two tables of an experiment, results.csv and curves.csv, as typed tables and back.

Both are tidy: one number a line, ``setting,seed,metric,value`` and
``setting,seed,step,metric,value``, rows sorted, six significant digits, so that a rerun shows up
in version control as the numbers that changed.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from el_jax.plots.tables import Curve, CurveTable, SeedTable, SeedValues
from experiments.tidy_csv import MalformedTableError, read_rows, union, write_rows


class ResultRow(NamedTuple):
    """One line of results.csv."""

    setting: str
    seed: int
    metric: str
    value: float


class CurveRow(NamedTuple):
    """One line of curves.csv."""

    setting: str
    seed: int
    step: int
    metric: str
    value: float


# ── results.csv ──────────────────────────────────────────────────────────────────────────────────


def seed_table(rows: Iterable[ResultRow]) -> SeedTable:
    """Gather rows into ``(setting, metric) -> SeedValues``, sorted.

    Raises:
        ValueError: two rows give one setting, seed and metric different values.
    """
    by_entry: dict[tuple[str, str], dict[int, float]] = {}
    for setting, seed, metric, value in union(rows):
        by_entry.setdefault((setting, metric), {})[seed] = value
    return {
        entry: SeedValues(tuple(sorted(values)), np.array([values[s] for s in sorted(values)]))
        for entry, values in sorted(by_entry.items())
    }


def _result_rows(table: SeedTable) -> list[ResultRow]:
    return [
        ResultRow(setting, seed, metric, float(value))
        for (setting, metric), entry in table.items()
        for seed, value in zip(entry.seeds, entry.values, strict=True)
    ]


def write_results(path: Path, table: SeedTable) -> None:
    """Write results.csv.

    Raises:
        ValueError: a name is empty, padded with spaces, or spans lines.
    """
    write_rows(path, ResultRow._fields, _result_rows(table))


def read_results(path: Path) -> SeedTable:
    """Read results.csv.

    Raises:
        MalformedTableError: the file is not such a table.
        FileNotFoundError: there is no such file.
    """
    return seed_table(ResultRow(*row) for row in read_rows(path, ResultRow._fields))


def merge_results(*parts: SeedTable) -> SeedTable:
    """The union of partial tables, such as the shards of a sweep.

    Raises:
        ValueError: two parts disagree on a number.
    """
    return seed_table(row for part in parts for row in _result_rows(part))


# ── curves.csv ───────────────────────────────────────────────────────────────────────────────────


def curve_table(rows: Iterable[CurveRow]) -> CurveTable:
    """Gather rows into ``(setting, metric) -> Curve``, sorted.

    Raises:
        ValueError: two rows give one setting, seed, step and metric different values, or the
            seeds of a curve were not measured at the same steps.
    """
    by_entry: dict[tuple[str, str], dict[int, dict[int, float]]] = {}
    for setting, seed, step, metric, value in union(rows):
        by_entry.setdefault((setting, metric), {}).setdefault(seed, {})[step] = value
    return {entry: _curve(entry, by_seed) for entry, by_seed in sorted(by_entry.items())}


def _curve(entry: tuple[str, str], by_seed: Mapping[int, Mapping[int, float]]) -> Curve:
    seeds = tuple(sorted(by_seed))
    steps = sorted(by_seed[seeds[0]])
    for seed in seeds:
        if differing := set(by_seed[seed]) ^ set(steps):
            raise ValueError(
                f"{entry[0]!r}, {entry[1]!r}: only one of seeds {seeds[0]} and {seed} has step "
                f"{min(differing)}; all seeds of a curve need the same steps."
            )
    values = [[by_seed[seed][step] for step in steps] for seed in seeds]
    return Curve(seeds, np.array(steps), np.array(values))


def _curve_rows(table: CurveTable) -> list[CurveRow]:
    return [
        CurveRow(setting, seed, int(step), metric, float(value))
        for (setting, metric), curve in table.items()
        for seed, values in zip(curve.seeds, curve.values, strict=True)
        for step, value in zip(curve.steps, values, strict=True)
    ]


def thin(curve: Curve, max_points: int) -> Curve:
    """At most ``max_points`` marks, even in rank, the first and the last among them.

    Even in rank keeps the spacing the run chose: marks dense early stay dense early.

    Raises:
        ValueError: ``max_points`` is below 2.
    """
    if max_points < 2:
        raise ValueError(f"max_points={max_points} must be at least 2, the first and the last.")
    num_marks = len(curve.steps)
    if num_marks <= max_points:
        return curve
    kept = np.round(np.linspace(0, num_marks - 1, max_points)).astype(int)
    return Curve(curve.seeds, curve.steps[kept], curve.values[:, kept])


def write_curves(path: Path, table: CurveTable, *, max_points: int = 60) -> None:
    """Write curves.csv, every curve thinned to ``max_points`` marks.

    Raises:
        ValueError: a name is empty, padded with spaces, or spans lines.
    """
    thinned = {entry: thin(curve, max_points) for entry, curve in table.items()}
    write_rows(path, CurveRow._fields, _curve_rows(thinned))


def read_curves(path: Path) -> CurveTable:
    """Read curves.csv.

    Raises:
        MalformedTableError: the file is not such a table.
        FileNotFoundError: there is no such file.
    """
    rows = [CurveRow(*row) for row in read_rows(path, CurveRow._fields)]
    try:
        return curve_table(rows)
    except ValueError as error:
        raise MalformedTableError(f"{path}: {error}") from None


def merge_curves(*parts: CurveTable) -> CurveTable:
    """The union of partial tables of curves.

    Raises:
        ValueError: two parts disagree on a number, or the seeds of a curve on its steps.
    """
    return curve_table(row for part in parts for row in _curve_rows(part))
