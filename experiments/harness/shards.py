"""An experiment in parts, one for each task of a job array, and the parts joined again.

A shard leaves the three tables of its part and shard.json, which says which part it is and holds
the SHA-256 of each table. Settings measured again take the place of those that tables have.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TypeVar

import pandas as pd

from experiments.harness.provenance import (
    merge_provenance,
    read_provenance,
    renew_provenance,
    write_provenance,
)
from experiments.harness.tables import (
    read_curves,
    read_results,
    write_curves,
    write_results,
)

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
    """Write shard.json beside a part's tables: experiment, part, and SHA-256 of each table."""
    fields = {
        "experiment": experiment,
        "index": shard.index,
        "count": shard.count,
        "sha256": {table: _sum(folder / table) for table in TABLES},
    }
    (folder / SHARD).write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")


def _read_shard(folder: Path, experiment: str) -> Shard:
    try:
        fields = json.loads((folder / SHARD).read_text(encoding="utf-8"))
        name, shard = fields["experiment"], parse_shard(f"{fields['index']}/{fields['count']}")
        sums = {table: fields["sha256"][table] for table in TABLES}
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = f"it lacks a {SHARD} with the sums of its tables"
        raise ShardError(f"{folder} is no shard of {experiment}: {why}.") from error
    if name != experiment:
        raise ShardError(f"{folder} is a shard of {name}, not of {experiment}.")
    for table, written in sums.items():
        if _sum(folder / table) != written:
            raise ShardError(f"{folder / table} is not what shard {shard} wrote; run it again.")
    return shard


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_complete(experiment: str, folders: Sequence[Path]) -> None:
    """Check that the folders hold every shard of an experiment, once.

    Raises:
        ShardError: names the shard that is missing, given twice, or of another experiment or
            division.
    """
    shards = [_read_shard(folder, experiment) for folder in folders]
    named = zip(folders, shards, strict=True)
    for (ours, one), (theirs, other) in combinations(named, 2):
        if one.count != other.count:
            raise ShardError(f"{ours} is shard {one}, {theirs} shard {other}; n must be the same.")
        if one == other:
            raise ShardError(f"{ours} and {theirs} overlap: both are shard {one}.")
    count, present = shards[0].count, {shard.index for shard in shards}
    missing = [str(Shard(i, count)) for i in range(count) if i not in present]
    if missing:
        raise ShardError(f"shard {', '.join(missing)} is missing; all of them must be given.")


def _check_disjoint(results: Mapping[Path, pd.DataFrame]) -> None:
    rows = pd.concat(results, names=["folder"]).reset_index("folder")
    key = ["setting", "seed", "metric"]
    again = rows[rows.duplicated(key, keep=False)].sort_values(key)
    if again.empty:
        return
    ours, theirs = again["folder"].iloc[:2]
    setting, seed, metric = again[key].iloc[0]
    raise ShardError(
        f"{ours} and {theirs} overlap: both have {metric} of {setting!r}, seed {seed}."
    )


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
    results = {folder: read_results(folder / "results.csv") for folder in folders}
    _check_disjoint(results)
    try:
        provenance = merge_provenance(*(read_provenance(f / "provenance.json") for f in folders))
        curves = pd.concat([read_curves(folder / "curves.csv") for folder in folders])
        out.mkdir(parents=True, exist_ok=True)
        write_curves(out / "curves.csv", curves)
    except ValueError as error:
        raise ShardError(str(error)) from error
    write_results(out / "results.csv", pd.concat(results))
    write_provenance(out / "provenance.json", provenance)


def replace_settings(names: Sequence[str], measured: Path, out: Path) -> None:
    """Put settings that were measured again in place of those that tables have.

    Args:
        names: a name stands for every setting that begins with it and a colon, or that ends with a
            comma and it.
        measured: the folder of the new tables.
        out: the folder of the tables to change; new ones are written where it has none.

    Raises:
        MalformedTableError: a table cannot be read.
    """

    def is_measured(setting: str) -> bool:
        begins, ends = (tuple(form.format(n) for n in names) for form in ("{}: ", ", {}"))
        return setting.startswith(begins) or setting.endswith(ends)

    def renewed(read: Callable[[Path], pd.DataFrame], table: str) -> pd.DataFrame:
        old = read(out / table)
        return pd.concat(
            [old[~old["setting"].map(is_measured).astype(bool)], read(measured / table)]
        )

    if not (out / "provenance.json").exists():
        join([measured], out)
        return
    old, new = (read_provenance(folder / "provenance.json") for folder in (out, measured))
    write_results(out / "results.csv", renewed(read_results, "results.csv"))
    write_curves(out / "curves.csv", renewed(read_curves, "curves.csv"))
    write_provenance(out / "provenance.json", renew_provenance(old, new, is_measured))
