"""Measure the curvature of a training's checkpoints.

    python -m el_jax.measure --config=configs/flatness/measure.py --workdir=WORKDIR

WORKDIR is that of a training, which may still run. Prints loss, divergence from the truth where a
world tells it, traces of the Fisher matrix and the Hessian with their errors, and both ends of the
Hessian's spectrum; writes WORKDIR/curvature.csv and curvature.png. The network computes in float32
with plain attention, whatever it was trained in.
"""

import csv
import pathlib
from collections.abc import Callable

import jax
from ml_collections import ConfigDict

from el_jax import build
from el_jax.config.measure import MeasureSettings, parse
from el_jax.plots import plot_curvature, save_figure
from el_jax.probes import Curvature, contexts_of, measurement
from el_jax.runtime import launch
from el_jax.runtime.errors import ConfigError
from el_jax.saved_run import SavedRun, load
from el_jax.types import Params

HEADS = ("run", "seed", "step", "metric", "value", "sem")


def measure(config: ConfigDict, workdir: pathlib.Path) -> None:
    """Measure the checkpoints that the config names; print and write the results."""
    settings, run = parse(config), load(workdir)
    checkpoints, of = _checkpoints(run, settings), _measurement(run, settings)
    found: dict[str, Curvature] = {}
    with (workdir / "curvature.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADS)
        for number, step in checkpoints:
            numbers = dict(run.runs[number])
            place = number, (seed := int(numbers.pop("seed"))), step
            curvature = of(run.params(seed, step, **numbers))
            name = "run {} (seed {}), step {}".format(*place)
            print(name, *curvature.lines(), sep="\n", flush=True)
            writer.writerows((*place, *row) for row in curvature.rows())
            file.flush()  # an interrupted run keeps what it has
            found[name] = curvature
    densities = {name: each.density for name, each in found.items()}
    traces = {name: each.traces() for name, each in found.items()}
    title = f"{name}: {curvature.headline()}"
    save_figure(plot_curvature(densities, traces, title), workdir / "curvature.png")
    print(f"table and figure: {workdir / 'curvature.csv'}, {workdir / 'curvature.png'}")


def _checkpoints(run: SavedRun, settings: MeasureSettings) -> list[tuple[int, int]]:
    """Run and step of each."""
    known = range(len(run.runs))
    for number in settings.runs:
        if number not in known:
            raise ConfigError(f"config.runs={number}: must be in 0 .. {known[-1]}")
    if not run.steps:
        raise ConfigError(f"{run.workdir}: has no checkpoint yet")
    steps = settings.steps or run.steps[-1:]
    for step in steps:
        if step not in run.steps:
            raise ConfigError(f"config.steps={step}: must be among {run.steps}, of {run.workdir}")
    return [(number, step) for step in steps for number in settings.runs or known]


def _measurement(run: SavedRun, settings: MeasureSettings) -> Callable[[Params], Curvature]:
    batch = build.split_of(run.settings, settings.split)
    windows, labels = contexts_of(batch, most=settings.contexts)
    print(f"{run.workdir}: {len(labels)} contexts of {settings.split}; compiling ...", flush=True)
    return measurement(
        run.task, build.model_of(run.settings, exact=True), windows,
        jax.random.key(settings.seed),
        grouping=None if settings.groups == "none" else settings.groups,
        num_labels=settings.num_labels, num_probes=settings.num_probes,
        num_eigenvalues=settings.num_eigenvalues, lanczos_steps=settings.lanczos_steps,
        density_probes=settings.density_probes,
    )  # fmt: skip


if __name__ == "__main__":
    launch.run(measure)
