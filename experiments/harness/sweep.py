"""Train the studies of an experiment and write its three tables."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from el_jax import build
from el_jax.losses import ALL_LOSSES
from el_jax.numbers import numbers_of
from el_jax.probes import when_fitted
from el_jax.process.errors import ConfigError
from el_jax.training.optimizers import optimizer_numbers
from el_jax.training.sinks import History
from el_jax.types import Row
from experiments.harness.discovery import ExperimentError
from experiments.harness.names import level_name, name_of
from experiments.harness.seeds import write_tables
from experiments.harness.studies import Study, Trained, train_all
from experiments.harness.tables import CURVES, MAX_MARKS, thin, tidy

Extras = Callable[[History], Row]  # metrics of a whole training history, each [R]


def factors_of_run(study: Study, run: build.Numbers) -> dict[str, Any]:
    """The columns of a run: its loss and numbers, swept parameters, and the study's own factors.

    Args:
        study: the study.
        run: the run's row of ``Settings.rows``.
    """
    config = study.config
    of_loss = numbers_of(ALL_LOSSES[config.loss.name])
    swept = [key for key in optimizer_numbers(config.optim.name) if config.sweep.optim.get(key)]
    # an optimizer's parameter with the same name as a loss's keeps its section's name
    of_optimizer = [f"optim.{key}" if key in of_loss else key for key in swept]
    return {
        "loss": config.loss.name,
        **{key: float(run[key]) for key in (*of_loss, *of_optimizer)},
        "warmup_steps": int(run["warmup_steps"]),
        **study.factors,
    }


def with_levels(studies: Sequence[Study], factor: str, chosen: Sequence[str]) -> list[Study]:
    """The studies whose factor has one of the chosen levels, given as text.

    Raises:
        ExperimentError: no study has a chosen level.
    """
    known = {level_name(study.factors[factor]) for study in studies}
    for level in chosen:
        if level not in known:
            raise ExperimentError(
                f"--only={level}: {factor} must be one of {', '.join(sorted(known))}"
            )
    return [study for study in studies if level_name(study.factors[factor]) in chosen]


def check_factors(studies: Sequence[Study]) -> None:
    """Raise, before training, if two runs would have the same row in a table.

    Raises:
        ConfigError: the message names the factors.
    """
    seen: list[dict[str, Any]] = []
    for study in studies:
        for run in build.parse(study.config).rows:
            row = factors_of_run(study, run) | {"seed": int(run["seed"])}
            if row in seen:
                raise ConfigError(
                    f"two runs have the same factors, {row}: say what they differ in by the "
                    "factors of their Study"
                )
            seen.append(row)


def _last_rows(history: History) -> Row:
    """The newest value of every metric."""
    last: Row = {}
    for row in history.rows:
        last |= row
    return last


def _named(study: Study, history: History) -> History:
    """A history with the tables' names of metrics."""

    def named(metric: str) -> str:
        start = max(filter(metric.startswith, study.names), key=len, default="")
        return study.names[start] + metric.removeprefix(start) if start else metric

    renamed = History()
    for step, row in zip(history.steps, history.rows, strict=True):
        renamed.write(step, {named(metric): values for metric, values in row.items()})
    return renamed


def _rows(
    study: Study,
    trained: Trained,
    metrics: Sequence[str],
    curves: Sequence[str],
    extras: Extras | None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    history = _named(study, trained.history)
    further = study.extras or extras
    final = _last_rows(history) | (further(history) if further else {})
    results: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    for i, run in enumerate(trained.runs):
        row = factors_of_run(study, run) | {"seed": int(run["seed"])}
        if study.networks > 1:  # of the first ones on a data set, up to this one
            first = study.config.seed
            row |= {"networks": i + 1, "seed": first + (row["seed"] - first) // study.networks}
        results += [row | {"metric": m, "value": float(final[m][i])} for m in metrics]
        for metric in curves:
            steps, values = history.curve(metric)
            points += [
                row | {"step": int(s), "metric": metric, "value": float(v[i])}
                for s, v in zip(steps, values, strict=True)
            ]
    return results, points


def fitting(history: History) -> Row:
    """``when_fitted`` over the evaluations of a run."""
    looks = [
        (step, row)
        for step, row in zip(history.steps, history.rows, strict=True)
        if "test_hard_accuracy" in row
    ]
    return when_fitted([step for step, _ in looks], [row for _, row in looks])


def run_sweep(
    experiment: str,
    scale: str,
    out: Path,
    *,
    seeds: int = 0,
    only: Mapping[str, Sequence[str]] = MappingProxyType({}),
    studies: Callable[[str], Sequence[Study]],
    metrics: Sequence[str],
    curves: Sequence[str],
    extras: Extras | None = None,
    max_marks: int = MAX_MARKS,
) -> None:
    """Train every study and write results.csv, curves.csv and provenance.json into ``out``.

    With everything after ``only`` bound, it is the ``run`` of an experiment.

    Args:
        experiment: its name, for the provenance.
        scale: its scale.
        out: the folder, which exists.
        seeds: number of seeds of every study; by default its own number.
        only: factor -> levels, as text, of the studies to train; by default all of them.
        studies: returns the studies of a scale.
        metrics: metrics whose last value goes to results.csv.
        curves: metrics whose curves go to curves.csv.
        extras: further metrics computed from each run's history, for studies without their own.
        max_marks: largest number of marks kept per curve.
    """
    chosen = studies(scale)
    for factor, asked in only.items():
        chosen = with_levels(chosen, factor, asked)
    for study in chosen if seeds else ():
        study.config.train.seeds = seeds
    check_factors(chosen)
    trained = train_all(experiment, chosen)
    results: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    seconds: dict[str, float] = {}
    for study, parts in zip(chosen, trained, strict=True):
        for part in parts:
            rows, marks = _rows(study, part, metrics, curves, extras)
            results += rows
            points += marks
            names = {name_of(factors_of_run(study, run)) for run in part.runs}
            for name in names:  # runs of one program share its time
                seconds[name] = seconds.get(name, 0.0) + part.seconds / len(names)
    write_tables(
        experiment,
        scale,
        out,
        results=tidy(results),
        curves=thin(tidy(points, CURVES), max_marks),
        wall_seconds=seconds,
    )
