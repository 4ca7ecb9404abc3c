"""Join the tables of several runs: parts of a benchmark, or settings measured again."""

import dataclasses
import shlex
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.harness.names import level_name, name_of
from experiments.harness.provenance import (
    merge_provenance,
    read_provenance,
    renew_provenance,
    write_provenance,
)
from experiments.harness.tables import cells, read_table, write_table

TABLES = ("results.csv", "curves.csv", "provenance.json")


def join(folders: Sequence[Path], out: Path) -> None:
    """Join the tables of parts of one run.

    Args:
        folders: the folders of the parts, at least one.
        out: the folder for the three tables, made if need be.

    Raises:
        ValueError: the parts differ in code or machine, or two have the same rows.
        MalformedTableError: a table cannot be read.
    """
    provenance = merge_provenance(*(read_provenance(f / "provenance.json") for f in folders))
    out.mkdir(parents=True, exist_ok=True)
    for table in TABLES[:2]:
        parts = [read_table(folder / table) for folder in folders]
        write_table(out / table, pd.concat(parts, ignore_index=True))
    write_provenance(out / "provenance.json", provenance)


def replace_levels(factor: str, names: Sequence[str], measured: Path, out: Path) -> None:
    """Replace settings in tables by new measurements.

    Args:
        factor: the factor whose levels name the settings.
        names: its levels that were measured again, as text.
        measured: the folder of the new tables.
        out: the folder of the tables to change; missing ones are created.

    Raises:
        MalformedTableError: a table cannot be read.
    """
    if not (out / "provenance.json").exists():
        join([measured], out)
        return

    def rest(table: pd.DataFrame) -> pd.DataFrame:
        if factor not in table:  # in curves, if there are none
            return table
        return table[~table[factor].map(level_name).isin(names)]

    old, new = (read_provenance(folder / "provenance.json") for folder in (out, measured))
    words = shlex.quote(f"--only={','.join(names)}")
    new = dataclasses.replace(new, command=f"{new.command} {words}")
    kept = {table: rest(read_table(out / table)) for table in TABLES[:2]}
    stay = {name_of(cell) for cell in cells(kept["results.csv"], {})}
    stay |= old.not_measured.keys() - new.wall_seconds.keys()  # they have a reason and no rows
    for table, rows in kept.items():
        again = read_table(measured / table)
        write_table(out / table, pd.concat([rows, again], ignore_index=True))
    renewed = renew_provenance(old, new, lambda name: name not in stay)
    write_provenance(out / "provenance.json", renewed)
