"""Join the tables of two runs, of which the second measured some settings again."""

import dataclasses
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from experiments.harness.names import level_name, name_of
from experiments.harness.provenance import (
    read_provenance,
    renew_provenance,
    write_provenance,
)
from experiments.harness.tables import cells, read_table, write_table

TABLES = ("results.csv", "curves.csv", "provenance.json")


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
    new = read_provenance(measured / "provenance.json")
    words = shlex.quote(f"--only={','.join(names)}")
    new = dataclasses.replace(new, command=f"{new.command} {words}")
    if not (out / "provenance.json").exists():
        shutil.copytree(measured, out, dirs_exist_ok=True)
        write_provenance(out / "provenance.json", new)
        return

    def rest(table: pd.DataFrame) -> pd.DataFrame:
        if factor not in table:  # in curves, if there are none
            return table
        return table[~table[factor].map(level_name).isin(names)]

    old = read_provenance(out / "provenance.json")
    kept = {table: rest(read_table(out / table)) for table in TABLES[:2]}
    stay = {_words(name_of(cell)) for cell in cells(kept["results.csv"], {})}
    # they have a reason and no rows
    stay |= {_words(name) for name in old.not_measured.keys() - new.wall_seconds.keys()}
    for table, rows in kept.items():
        again = read_table(measured / table)
        write_table(out / table, pd.concat([rows, again], ignore_index=True))
    renewed = renew_provenance(old, new, lambda name: _words(name) not in stay)
    write_provenance(out / "provenance.json", renewed)


def _words(name: str) -> tuple[str, ...]:
    """The words of a setting's name, whose factors a table may have in another order."""
    return tuple(sorted(name.replace(",", "").split()))
