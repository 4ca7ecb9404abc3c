"""The three tables every experiment leaves: results.csv, curves.csv, provenance.json."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from experiments.provenance import gather_provenance, write_provenance
from experiments.results import (
    CurveRow,
    ResultRow,
    curve_table,
    seed_table,
    write_curves,
    write_results,
)


def write_tables(
    experiment: str,
    scale: str,
    out: Path,
    *,
    results: Iterable[ResultRow],
    curves: Iterable[CurveRow],
    config_hashes: Mapping[str, str],
    wall_seconds: Mapping[str, float],
) -> None:
    """Write the measurements and their provenance into ``out``.

    Args:
        experiment: its name, for the provenance.
        scale: its scale.
        out: the folder, which exists.
        results: rows of results.csv.
        curves: rows of curves.csv; may be none.
        config_hashes: for each setting, ``config_hash`` of all that its numbers depend on.
        wall_seconds: for each setting, wall time of all its seeds.
    """
    write_results(out / "results.csv", seed_table(results))
    write_curves(out / "curves.csv", curve_table(curves))
    provenance = gather_provenance(
        experiment, scale, config_hashes=config_hashes, wall_seconds=wall_seconds
    )
    write_provenance(out / "provenance.json", provenance)
