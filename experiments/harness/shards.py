"""An experiment in parts, one for each task of a job array, and the parts joined again.

A shard leaves the three tables of its part and shard.json, which says which part it is. Settings
measured again take the place of those that tables have.
"""

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import pandas as pd

from experiments.harness.names import name_of
from experiments.harness.provenance import (
    merge_provenance,
    read_provenance,
    renew_provenance,
    write_provenance,
)
from experiments.harness.tables import MalformedTableError, cells, read_table, write_table

T = TypeVar("T")

SHARD = "shard.json"
TABLES = ("results.csv", "curves.csv", "provenance.json")


class ShardError(ValueError):
    """Parts that cannot be made or joined; the message is one line."""


@dataclasses.dataclass(frozen=True)
class Shard:
    """Part ``index`` of ``count``, from 0."""

    index: int = 0
    count: int = 1

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @property
    def is_whole(self) -> bool:
        """True if there are no other parts."""
        return self.count == 1

    def take(self, units: Iterable[T]) -> list[T]:
        """Every ``count``-th unit of work, from the one numbered ``index``.

        Raises:
            ShardError: this part would have nothing to do.
        """
        every = list(units)
        if self.count > len(every):
            raise ShardError(f"--shard={self}: n must be at most {len(every)} here.")
        return every[self.index :: self.count]


WHOLE = Shard()


def parse_shard(text: str) -> Shard:
    """Read ``i/n``.

    Raises:
        ShardError: the text has another form, or i is not below n.
    """
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text, re.ASCII)
    if found is None or not int(found[1]) < int(found[2]):
        raise ShardError(f"--shard={text!r}: must be i/n with i from 0 to n - 1, such as 0/4.")
    return Shard(int(found[1]), int(found[2]))


def write_shard(folder: Path, experiment: str, shard: Shard) -> None:
    """Write shard.json beside a part's tables."""
    fields = {"experiment": experiment, "shard": str(shard)}
    (folder / SHARD).write_text(json.dumps(fields) + "\n", encoding="utf-8")


def _read_shard(folder: Path, experiment: str) -> Shard:
    try:
        fields = json.loads((folder / SHARD).read_text(encoding="utf-8"))
        name, shard = fields["experiment"], parse_shard(fields["shard"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ShardError(f"{folder} is no shard of {experiment}: it lacks a {SHARD}.") from error
    if name != experiment:
        raise ShardError(f"{folder} is a shard of {name}, not of {experiment}.")
    return shard


def check_complete(experiment: str, folders: Sequence[Path]) -> None:
    """Check that the folders hold every shard of an experiment, once.

    Raises:
        ShardError: names the shard that is missing, given twice, or of another experiment or
            division.
    """
    given = Counter(_read_shard(folder, experiment) for folder in folders)
    count = next(iter(given)).count
    wanted = Counter(Shard(i, count) for i in range(count))
    if given != wanted:
        missing, surplus = (
            ", ".join(map(str, counts.elements())) or "none"
            for counts in (wanted - given, given - wanted)
        )
        raise ShardError(f"each shard must be given once; missing: {missing}; surplus: {surplus}.")


def merge(experiment: str, folders: Sequence[Path], out: Path) -> None:
    """Join all shards of an experiment into the tables that one run would have written.

    Args:
        experiment: its name.
        folders: the folders of the shards, at least one, in any order.
        out: the folder for the three tables, made if need be.

    Raises:
        ShardError: the folders are not all the shards of one run, of one scale, code and machine.
        MalformedTableError: a table cannot be read.
        FileNotFoundError: a table is missing.
    """
    check_complete(experiment, folders)
    join(folders, out)


def join(folders: Sequence[Path], out: Path) -> None:
    """Join the tables of parts of one run, at least one; raises as ``merge`` does."""
    try:
        provenance = merge_provenance(*(read_provenance(f / "provenance.json") for f in folders))
        out.mkdir(parents=True, exist_ok=True)
        for table in TABLES[:2]:
            parts = [read_table(folder / table) for folder in folders]
            write_table(out / table, pd.concat(parts, ignore_index=True))
    except MalformedTableError:
        raise
    except ValueError as error:
        raise ShardError(str(error)) from error
    write_provenance(out / "provenance.json", provenance)


def replace_levels(factor: str, names: Sequence[str], measured: Path, out: Path) -> None:
    """Put settings that were measured again in place of those that tables have.

    Args:
        factor: the factor by whose levels settings are named.
        names: its levels that were measured again, as text.
        measured: the folder of the new tables.
        out: the folder of the tables to change; new ones are written where it has none.

    Raises:
        MalformedTableError: a table cannot be read.
    """
    if not (out / "provenance.json").exists():
        join([measured], out)
        return

    def rest(table: pd.DataFrame) -> pd.DataFrame:
        if factor not in table:  # of curves, where there are none
            return table
        return table[
            ~table[factor]
            .map(lambda level: f"{level:g}" if isinstance(level, float) else str(level))
            .isin(names)
        ]

    old, new = (read_provenance(folder / "provenance.json") for folder in (out, measured))
    kept = {table: rest(read_table(out / table)) for table in TABLES[:2]}
    stay = {name_of(cell) for cell in cells(kept["results.csv"], {})}
    stay |= old.not_measured.keys() - new.wall_seconds.keys()  # they have a reason and no rows
    for table, rows in kept.items():
        again = read_table(measured / table)
        write_table(out / table, pd.concat([rows, again], ignore_index=True))
    renewed = renew_provenance(old, new, lambda name: name not in stay)
    write_provenance(out / "provenance.json", renewed)
