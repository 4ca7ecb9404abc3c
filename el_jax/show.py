"""Show a training: the last numbers of every run, and its curves.

    python -m el_jax.show WORKDIR

WORKDIR is that of a training that runs, was interrupted or is done. Prints a table with a line for
each run and writes WORKDIR/curves.png: loss, and accuracy of every group of every split, with a
line at the accuracy of guessing where the task has one.
"""

import argparse
import pathlib
import sys
from collections.abc import Sequence

import numpy as np

from el_jax.plots import plot_training, save_figure
from el_jax.runtime.compilation import use_compilation_cache
from el_jax.runtime.errors import UserError, describe, exit_code
from el_jax.saved_run import SavedRun, load
from el_jax.tasks import Guessable
from el_jax.training.progress import sweep_points, watched
from el_jax.training.sinks import History


def show(run: SavedRun) -> pathlib.Path:
    """Print the last numbers of every run and draw the curves.

    Returns:
        The figure.

    Raises:
        UserError: there is no row of metrics yet, or the config is of another version.
    """
    settings, history = run.settings, run.history
    if not history.steps:
        raise UserError(f"{run.workdir}: no row of metrics yet")
    names = watched(["train", *settings.evaluations], settings.task.group_names)
    measured = {name: label for name, label in names.items() if _is_in(history.rows, name)}
    print(f"{run.workdir}: step {history.steps[-1]} of {settings.train.num_updates}")
    print(*_table(run, measured), sep="\n")
    loss = {"loss, nats": ["batch_loss"]}
    # a split that is measured at the end only has no curve
    curves = [name for name in measured if name != "batch_loss" and _marks(history, name) > 1]
    accuracy = {"accuracy": curves}
    panels = {
        label: {measured[name]: history.curve(name) for name in names}
        for label, names in (loss | accuracy).items()
        if names
    }
    points = sweep_points(run.runs)
    seeds = len(run.runs) // len(points)
    title = (
        f"{run.workdir.name}: {settings.loss.name}, mean of {seeds} seeds (thick) and each (thin)"
    )
    path = run.workdir / "curves.png"
    chance = {"accuracy": run.task.chance} if isinstance(run.task, Guessable) else {}
    save_figure(plot_training(panels, title, chance, points), path)
    return path


def _marks(history: History, name: str) -> int:
    return len(history.curve(name)[0])


def _is_in(rows: Sequence[dict[str, np.ndarray]], name: str) -> bool:
    return any(name in row and not np.isnan(row[name]).all() for row in rows)


def _table(run: SavedRun, measured: dict[str, str]) -> list[str]:
    """A line for each run: its numbers, then the newest value of each metric."""
    history = run.history
    last = {label: history.curve(name)[1][-1] for name, label in measured.items()}
    heads, shown = ["run", *run.runs[0], *last], list(last.values())
    lines = [
        [*(f"{number:g}" for number in (i, *numbers.values())), *(f"{v[i]:.3f}" for v in shown)]
        for i, numbers in enumerate(run.runs)
    ]
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in [heads, *lines]
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and show.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser("python -m el_jax.show", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("workdir", metavar="WORKDIR")
    arguments = parser.parse_args(argv)
    use_compilation_cache()
    try:
        print(f"curves: {show(load(arguments.workdir))}")
    except (UserError, OSError) as error:
        print(f"error: {describe(error)}", file=sys.stderr)
        return exit_code(error) or 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
