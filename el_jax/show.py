"""Show the last numbers of every run of a training, and its curves.

    python -m el_jax.show WORKDIR [WORKDIR ...]

WORKDIR belongs to a training that is running, was interrupted or has finished. Prints a table with
a line for each run, its probes included, and writes WORKDIR/curves.png: the loss, and the accuracy
of every group of every split, with a line at chance level if the task has one. Given several
workdirs, prints one table of the numbers in which they differ and their last metrics. A metric that
was measured before the last row, as in an interrupted training, has its step in parentheses.
"""

import argparse
import json
import os
import pathlib
import sys
from collections.abc import Mapping, Sequence

import numpy as np

from el_jax.plots import plot_training, save_figure
from el_jax.process.compilation import use_compilation_cache
from el_jax.process.errors import UserError, describe, exit_code
from el_jax.run import SavedRun, load
from el_jax.tasks import Guessable
from el_jax.training.progress import sweep_points, watched
from el_jax.training.sinks import History
from el_jax.workdir import flatten


def show(run: SavedRun) -> pathlib.Path:
    """Print the last numbers of every run and draw the curves.

    Returns:
        The figure.

    Raises:
        UserError: there is no row of metrics yet, or the config belongs to another version.
    """
    settings, history = run.settings, run.history
    if not history.steps:
        raise UserError(f"{run.workdir}: no row of metrics yet")
    measured = _measured(run)
    print(f"{run.workdir}: step {history.steps[-1]} of {settings.train.num_updates}")
    print(*_table(run, measured), sep="\n")
    # a split measured only at the end has no curve; the first row has points alone
    least = min(2, len(history.steps))
    curves = {name: history.curve(name) for name in measured if _marks(history, name) >= least}
    kinds = {"loss, nats": "loss", "accuracy": "accuracy", "perplexity": "perplexity"}
    panels = {
        label: {measured[name]: curve for name, curve in curves.items() if name.endswith(kind)}
        for label, kind in kinds.items()
    }
    panels = {label: drawn for label, drawn in panels.items() if drawn}
    points = sweep_points(run.runs)
    seeds = len(run.runs) // len(points)
    title = (
        f"{run.workdir.name}: {settings.loss.name}, mean of {seeds} seeds (thick) and each (thin)"
    )
    path = run.workdir / "curves.png"
    chance = {"accuracy": run.task.chance} if isinstance(run.task, Guessable) else {}
    save_figure(plot_training(panels, title, chance, points), path)
    return path


def compare(runs: Sequence[SavedRun]) -> list[str]:
    """A table of several workdirs: the config keys in which they differ, and their last metrics.

    Each line is the mean over the seeds of one sweep point that have a number.
    """
    flat = [flatten(json.loads((run.workdir / "config.json").read_text())) for run in runs]
    keys = sorted({key for config in flat for key in config})
    keys = [key for key in keys if not key.startswith("sweep.")]  # a sweep has a column of points
    differing = [key for key in keys if len({str(config.get(key)) for config in flat}) > 1]
    rows: list[dict[str, str]] = []
    for run, config in zip(runs, flat, strict=True):
        last = _measured(run)
        for point, places in sweep_points(run.runs).items():
            row = {"workdir": str(run.workdir)} | ({"sweep": point} if point else {})
            row |= {k: str(config.get(k, "")) for k in differing if not config.get(f"sweep.{k}")}
            row["step"] = str(run.history.steps[-1])
            for name, label in last.items():
                values, when = _newest(run.history, name)
                of_seeds = values[places][~np.isnan(values[places])]
                row[label] = f"{of_seeds.mean() if of_seeds.size else np.nan:.3f}{when}"
            rows.append(row)
    return _aligned(rows)


def _measured(run: SavedRun) -> dict[str, str]:
    """The metrics shown, by name, with their labels: loss, accuracies, and those of no split."""
    settings, rows = run.settings, run.history.rows
    splits = ("train", *settings.evaluations)
    of_splits = tuple(f"{split}_" for split in ("batch", *splits))
    names = dict(watched(splits, settings.task.group_names)) | {
        name: name.replace("_", " ")
        for name in dict.fromkeys(name for row in rows for name in row)
        if not name.startswith(of_splits) and not name.endswith("_sem")
    }
    return {name: label for name, label in names.items() if _is_in(rows, name)}


def _aligned(rows: Sequence[Mapping[str, str]]) -> list[str]:
    heads = list(dict.fromkeys(head for row in rows for head in row))
    lines = [heads, *([row.get(head, "") for head in heads] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]


def _newest(history: History, name: str) -> tuple[np.ndarray, str]:
    """A metric's newest values, and their step in parentheses if it is not that of the last row."""
    steps, values = history.curve(name)
    return values[-1], "" if steps[-1] == history.steps[-1] else f" ({steps[-1]})"


def _marks(history: History, name: str) -> int:
    return len(history.curve(name)[0])


def _is_in(rows: Sequence[dict[str, np.ndarray]], name: str) -> bool:
    return any(name in row and not np.isnan(row[name]).all() for row in rows)


def _table(run: SavedRun, measured: dict[str, str]) -> list[str]:
    """A line for each run: its numbers, then the newest value of each metric."""
    history = run.history
    newest = {label: _newest(history, name) for name, label in measured.items()}
    last = {f"{label}{when}": values for label, (values, when) in newest.items()}
    rows = [
        {name: f"{number:g}" for name, number in ({"run": i} | numbers).items()}
        | {label: f"{values[i]:.3f}" for label, values in last.items()}
        for i, numbers in enumerate(run.runs)
    ]
    return _aligned(rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and show.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser("python -m el_jax.show", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("workdirs", metavar="WORKDIR", nargs="+")
    arguments = parser.parse_args(argv)
    use_compilation_cache()
    try:
        runs = [load(workdir) for workdir in arguments.workdirs]
        for run in runs:
            print(f"curves: {show(run)}")
        if len(runs) > 1:
            print("", *compare(runs), sep="\n")
    except BrokenPipeError:  # the reader, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (UserError, OSError) as error:
        print(f"error: {describe(error)}", file=sys.stderr)
        return exit_code(error) or 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
