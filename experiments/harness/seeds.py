"""Measure an experiment seed by seed, and write its three tables."""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

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


def run_seeds(
    experiment: str,
    scale: str,
    out: Path,
    *,
    num_seeds: Mapping[str, int],
    measure: Callable[[str, int], Iterable[Measured]],
    summary: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
) -> None:
    """Measure every seed; write results.csv, curves.csv and provenance.json.

    With everything after ``out`` bound, it is the ``run`` of an experiment.

    Args:
        experiment: its name, for the provenance.
        scale: its scale.
        out: the folder, which exists.
        num_seeds: scale -> number of seeds, from 0.
        measure: yields every setting, measured at a scale with one seed.
        summary: computes further results that depend on all seeds from the measured ones.
    """
    use_compilation_cache()
    results, curves = [], []
    started = time.monotonic()
    for seed in range(num_seeds[scale]):
        for factors, numbers, steps, courses in measure(scale, seed):
            run = {**factors, "seed": seed}
            results += [run | {"metric": m, "value": value} for m, value in numbers.items()]
            curves += [
                run | {"step": step, "metric": metric, "value": value}
                for metric, values in courses.items()
                for step, value in zip(steps, values, strict=True)
            ]
        print(f"{experiment}: seed {seed + 1} of {num_seeds[scale]}", flush=True)
    frame = tidy(results)
    write_tables(
        experiment,
        scale,
        out,
        results=frame if summary is None else pd.concat([frame, summary(frame)]),
        curves=tidy(curves, CURVES),
        wall_seconds={experiment: time.monotonic() - started},
    )


def write_tables(
    experiment: str,
    scale: str,
    out: Path,
    *,
    results: pd.DataFrame,
    curves: pd.DataFrame,
    wall_seconds: Mapping[str, float],
    not_measured: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write the measurements and their provenance into ``out``.

    Args:
        experiment: its name, for the provenance.
        scale: its scale.
        out: the folder, which exists.
        results: rows of results.csv.
        curves: rows of curves.csv; may be none.
        wall_seconds: for each setting, wall time of all its seeds.
        not_measured: for each setting that could not be measured, the reason.
    """
    write_table(out / "results.csv", results)
    write_table(out / "curves.csv", curves)
    provenance = gather_provenance(experiment, scale, wall_seconds, not_measured)
    write_provenance(out / "provenance.json", provenance)
