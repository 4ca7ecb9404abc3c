"""Measure an experiment seed by seed, and write its three tables."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from el_jax.checkpoint_step import config_hash
from el_jax.process.compilation import use_compilation_cache
from experiments.harness.provenance import gather_provenance, write_provenance
from experiments.harness.tables import CURVES, tidy, write_table


class Measured(NamedTuple):
    """One setting, measured with one seed.

    Attributes:
        factors: factor -> value, the columns of the tables that identify the setting.
        numbers: metric -> value, for results.csv.
        steps: the marks of its curves, ``[S]``.
        curves: metric -> values at the marks, each ``[S]``, for curves.csv.
    """

    factors: Mapping[str, object]
    numbers: Mapping[str, float] = MappingProxyType({})
    steps: np.ndarray = np.array([], int)
    curves: Mapping[str, np.ndarray] = MappingProxyType({})


Part = tuple[str, Callable[[], Iterable[Measured]]]
"""A name in provenance.json, and the function whose time it records."""

Settings = tuple[int, Mapping[str, object]]
"""The number of seeds, from 0, and all that the numbers depend on besides a part's name."""


def run_seeds(
    experiment: str,
    scale: str,
    out: Path,
    *,
    settings: Callable[[str], Settings],
    measure: Callable[[str, int], Iterator[Part]],
    summary: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
) -> None:
    """Measure every seed; write results.csv, curves.csv and provenance.json.

    With its name and everything after ``out`` bound, it is the ``run`` of an experiment.

    Args:
        experiment: its name, for the provenance.
        scale: its scale.
        out: the folder, which exists.
        settings: returns the settings of a scale.
        measure: yields the parts of one seed at a scale.
        summary: computes further results that depend on all seeds from the measured ones.
    """
    use_compilation_cache()
    num_seeds, config = settings(scale)
    results, curves = [], []
    seconds: defaultdict[str, float] = defaultdict(float)
    for seed in range(num_seeds):
        for name, part in measure(scale, seed):
            started = time.monotonic()
            for factors, numbers, steps, courses in part():
                run = {**factors, "seed": seed}
                results += [run | {"metric": m, "value": value} for m, value in numbers.items()]
                curves += [
                    run | {"step": step, "metric": metric, "value": value}
                    for metric, values in courses.items()
                    for step, value in zip(steps, values, strict=True)
                ]
            seconds[name] += time.monotonic() - started
        print(f"{experiment}: seed {seed + 1} of {num_seeds}", flush=True)
    frame = tidy(results)
    write_tables(
        experiment,
        scale,
        out,
        results=frame if summary is None else pd.concat([frame, summary(frame)]),
        curves=tidy(curves, CURVES),
        config_hashes={name: config_hash({**config, "part": name}) for name in seconds},
        wall_seconds=seconds,
    )


def write_tables(
    experiment: str,
    scale: str,
    out: Path,
    *,
    results: pd.DataFrame,
    curves: pd.DataFrame,
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
        config_hashes: for each setting, ``config_hash`` of everything its numbers depend on.
        wall_seconds: for each setting, wall time of all its seeds.
    """
    write_table(out / "results.csv", results)
    write_table(out / "curves.csv", curves)
    provenance = gather_provenance(
        experiment, scale, config_hashes=config_hashes, wall_seconds=wall_seconds
    )
    write_provenance(out / "provenance.json", provenance)
