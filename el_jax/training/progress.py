"""Progress display of a training: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from el_jax.process.files import to_nowhere
from el_jax.types import Row

COMPILING = "compiling (the first time only) ..."
_WIDE = 100  # columns of a terminal with room for a long bar
_FEW = 3  # sweep points whose numbers are shown one by one
_SECONDS = 30.0  # longest time between lines
_TIMES = 24  # columns of the times, and of the gaps

Watched = Mapping[str, str]  # metric shown -> its name in the display
Points = Mapping[str, Sequence[int]]  # label of a sweep point -> places of its runs, its seeds
_ALL: Points = {"": ()}  # one point: every run


def watched(splits: Iterable[str], groups: Sequence[str]) -> Watched:
    """Loss, the accuracy of every group and split and, if it is measured, perplexity."""
    splits = tuple(splits)
    names = {f"{split}_perplexity": f"{split} perplexity" for split in splits}
    names |= {
        f"{split}_{group}_accuracy": f"{split} {group}"
        for split in splits
        for group in reversed(groups)  # the group learnt last matters most to the reader
    }
    return {"batch_loss": "loss", **names}


def sweep_points(runs: Sequence[Mapping[str, int | float]]) -> Points:
    """The sweep points of some runs, labelled by the numbers, other than the seed, that differ.

    Args:
        runs: seed and numbers of each run.
    """
    differing = [name for name in runs[0] if name != "seed" and len({r[name] for r in runs}) > 1]
    points: dict[str, list[int]] = {}
    for place, run in enumerate(runs):
        label = ", ".join(f"{name}={run[name]:g}" for name in differing)
        points.setdefault(label, []).append(place)
    return points


def headline(row: Row, watched: Watched, points: Points = _ALL) -> str:
    """The watched numbers of a row, each averaged over the seeds of every sweep point.

    A few points are shown one by one, as in ``loss 0.81 / 2.05``; more, by their range.
    """
    shown = {watched[name]: row[name] for name in watched if name in row}
    return "  ".join(
        f"{name} {_means(values, points)}"
        for name, values in shown.items()
        if not np.isnan(values).all()  # a group without tokens
    )


def describe_reached(level: float, steps: np.ndarray) -> str:
    """A line on the runs that reached ``train.stop_at_ce``, by their ``reached_step``, ``[R]``."""
    done = steps[~np.isnan(steps)]
    if not done.size:
        return f"no run reached train.stop_at_ce={level:g}"
    ends = " to ".join(dict.fromkeys(f"{step:.0f}" for step in (done.min(), done.max())))
    reached = f"{done.size} of {steps.size} runs reached train.stop_at_ce={level:g}"
    return f"{reached}, after {ends} updates"


def _means(values: np.ndarray, points: Points) -> str:
    of_points = [values[list(places)] if places else values for places in points.values()]
    means = [np.nan if np.isnan(of).all() else float(np.nanmean(of)) for of in of_points]
    if len(means) <= _FEW:
        return " / ".join(f"{mean:.3f}" for mean in means)
    return f"{np.nanmin(means):.3f} to {np.nanmax(means):.3f}"


def _column(width: int | None = None, ratio: int | None = None) -> Column:
    """A column of a fixed width, or of the rest of the line; longer text is cut."""
    return Column(width=width, ratio=ratio, no_wrap=True, overflow="ellipsis")


class BarProgress:
    """A progress bar with loss, accuracy and time left, for a terminal."""

    def __init__(
        self,
        title: str,
        num_updates: int,
        start: int,
        watched: Watched,
        console: Console,
        points: Points = _ALL,
    ) -> None:
        self._watched, self._points = watched, points
        # on a narrow terminal the title and numbers are cut, never the count and time
        count = len(f"{num_updates}/{num_updates}")
        bar_width = 24 if console.width >= _WIDE else 6
        title_width = max(8, min(28, (console.width - bar_width - count - _TIMES) // 2))
        self._bar = Progress(
            TextColumn("[bold]{task.description}", table_column=_column(title_width)),
            BarColumn(bar_width=bar_width),
            MofNCompleteColumn(table_column=_column(count)),
            TimeElapsedColumn(table_column=_column(7)),
            TextColumn("left", table_column=_column(4)),
            TimeRemainingColumn(table_column=_column(7)),
            TextColumn("{task.fields[headline]}", table_column=_column(ratio=1)),
            console=console,
            expand=True,
        )
        # the clock starts at the first row, since compilation says nothing about the pace
        self._task = self._bar.add_task(
            title, start=False, total=num_updates, completed=start, headline=COMPILING
        )
        self._row: Row = {}
        self._bar.start()

    def write(self, step: int, row: Row, of: str = "") -> None:
        """Move the bar; numbers measured earlier stay until measured again.

        Args:
            step: updates made.
            row: new numbers.
            of: the setting that the numbers belong to, where several share the bar.
        """
        self._row = row if of else self._row | row
        shown = headline(self._row, self._watched, self._points)
        self._bar.update(self._task, completed=step, headline=f"{of}: {shown}" if of else shown)
        self._bar.start_task(self._task)

    def close(self) -> None:
        """Leave the finished bar on the terminal."""
        try:
            self._bar.stop()
        except OSError:
            _nobody_reads()


class LineProgress:
    """Plain lines for logs and pipes.

    Args:
        title: first words of every line.
        num_updates: number of updates in all.
        start: number of updates made before.
        watched: metrics to show.
        at_evaluations: True to print a line at each evaluation as well.
        points: sweep points of the runs.
    """

    def __init__(
        self,
        title: str,
        num_updates: int,
        start: int,
        watched: Watched,
        *,
        at_evaluations: bool = True,
        points: Points = _ALL,
    ) -> None:
        self._title, self._num_updates, self._watched = title, num_updates, watched
        self._points = points
        self._first: tuple[int, float] | None = None  # step and time of the first row
        self._last = time.monotonic()
        self._at_evaluations = at_evaluations
        if start < num_updates:
            self._print(f"{title}  {start}/{num_updates}  {COMPILING}")

    def write(self, step: int, row: Row, of: str = "") -> None:
        """Print the row if one is due (see the class); the last row always is.

        Args:
            step: updates made.
            row: new numbers.
            of: the setting that the numbers belong to, where several share the lines.
        """
        now = time.monotonic()
        self._first = self._first or (step, now)
        evaluated = any(name in row for name in self._watched if name != "batch_loss")
        due = evaluated and (self._at_evaluations or step >= self._num_updates)
        if not due and now - self._last < _SECONDS:
            return
        self._last = now
        shown = headline(row, self._watched, self._points)
        shown = f"{of}: {shown}" if of else shown
        self._print(f"{self._title}  {step}/{self._num_updates}  {shown}{self._left(step, now)}")

    def _left(self, step: int, now: float) -> str:
        """Time left at the pace since the first row; before the second row there is no pace."""
        assert self._first is not None
        first, begun = self._first
        if step <= first:
            return ""
        return f"  {(now - begun) / (step - first) * (self._num_updates - step):.0f} s left"

    def _print(self, line: str) -> None:
        try:
            print(line, flush=True)
        except OSError:
            _nobody_reads()

    def close(self) -> None:
        """No-op: every line is complete."""


def _nobody_reads() -> None:
    """Redirect stdout to /dev/null, so that a closed pipe does not end the training."""
    to_nowhere(1)
    try:
        print("warning: nobody reads standard output any more; going on", file=sys.stderr)
    except OSError:
        to_nowhere(2)


def progress(
    title: str,
    num_updates: int,
    watched: Watched,
    start: int = 0,
    *,
    at_evaluations: bool = True,
    points: Points = _ALL,
) -> BarProgress | LineProgress:
    """A bar on a terminal, plain lines otherwise; see ``LineProgress``."""
    console = Console()
    if console.is_terminal:
        return BarProgress(title, num_updates, start, watched, console, points)
    return LineProgress(
        title, num_updates, start, watched, at_evaluations=at_evaluations, points=points
    )
