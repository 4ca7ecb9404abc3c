"""Test whether next-token data are separable; compare training's direction with the predicted one.

    python -m el_jax.analyze_ntp --config=FILE[:ARGUMENT] --workdir=FOLDER [--config.KEY=VALUE]

For example --config=configs/linear_ntp/random.py:d=60,m=50. Prints the verdicts with their
certificates and the margins; writes analysis.npz, trajectory.csv and figure.png.
"""

import csv
import json
import pathlib
import sys
from functools import partial
from typing import Any

import numpy as np
from ml_collections import ConfigDict

from el_jax.config.linear_ntp import NTPSettings, TrajectorySettings, parse
from el_jax.config.names import config_names
from el_jax.linear_ntp import Analysis, NTPProblem, Trajectory, analyze, run_trajectory
from el_jax.plots import plot_trajectory, save_figure
from el_jax.process import launch
from el_jax.workdir import check_workdir, claim_workdir, hold


def analyze_ntp(config: ConfigDict, workdir: pathlib.Path) -> None:
    """Analyse the problem of a config, train on it, and write the results."""
    settings = parse(config)
    problem = settings.problem.make()
    with hold(workdir):
        resolved = json.loads(config.to_json_best_effort())
        check_workdir(workdir, resolved)
        claim_workdir(workdir, resolved, [], sys.argv)
        _analyze(problem, settings, workdir)


def _analyze(problem: NTPProblem, settings: NTPSettings, workdir: pathlib.Path) -> None:
    analysis = analyze(problem, norms=settings.norms)
    print(*analysis.describe(), sep="\n")
    arrays: dict[str, Any] = {"embeddings": problem.embeddings, "finite": analysis.finite}
    arrays |= {f"w_mm_{norm}": solution.w for norm, solution in analysis.margins.items()}
    arrays |= {f"dual_{norm}": solution.dual for norm, solution in analysis.margins.items()}
    if settings.trajectory.method is not None:
        arrays["trained"] = _train(analysis, settings.trajectory, workdir).final
    np.savez(workdir / "analysis.npz", **arrays)
    print(f"arrays, metrics and figure: {workdir}")


def _train(analysis: Analysis, chosen: TrajectorySettings, workdir: pathlib.Path) -> Trajectory:
    step_size = chosen.step_size or 1 / (2 * analysis.smoothness)
    run = run_trajectory(
        analysis.problem,
        chosen.method or "gd",
        step_size,
        chosen.num_steps,
        decay=chosen.decay,
        num_marks=chosen.num_marks,
        w_mm=analysis.references,
    )
    with (workdir / "trajectory.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", *run.metrics])
        writer.writerows(zip(run.steps, *run.metrics.values(), strict=True))
    margin = analysis.margins.get("frobenius")
    above = f"{run.metrics['excess_loss'][-1]:.1g} nats above the entropy"
    title = f"{chosen.method}, step size {step_size:.3g}: {above} after {chosen.num_steps:,} steps"
    plain = chosen.method == "gd" and chosen.decay == 0
    figure = plot_trajectory(
        run.steps,
        run.metrics,
        question=title,
        margin=None if margin is None else margin.margin,
        step_size=step_size if plain else None,
    )
    save_figure(figure, workdir / "figure.png")
    return run


if __name__ == "__main__":
    names = partial(config_names, "analyze_ntp")
    launch.run(analyze_ntp, names=names, example="configs/linear_ntp/figure1.py")
