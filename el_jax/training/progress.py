"""What people watch while a training runs: a bar on a terminal, plain lines elsewhere."""

import os
import re
import sys
import time

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

from el_jax.training.summary import Row

_WATCHED = re.compile(r"(train|test)_(?!precise)([a-z0-9]+)_accuracy")


def headline(row: Row) -> str:
    """Loss and each group's accuracy, averaged over runs, for people who watch."""
    shown = {"loss": row["batch_loss"]} if "batch_loss" in row else {}
    for name in sorted(row, reverse=True):  # training before test
        if match := _WATCHED.fullmatch(name):
            shown[f"{match[1]} {match[2]}"] = row[name]
    return "  ".join(
        f"{name} {np.nanmean(values):.3f}"
        for name, values in shown.items()
        if not np.isnan(values).all()  # a group without tokens
    )


class BarProgress:
    """A progress bar with loss, accuracy and time left, for a terminal."""

    def __init__(self, title: str, num_updates: int, start: int, console: Console) -> None:
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[headline]}"),
            console=console,
        )
        self._task = self._bar.add_task(title, total=num_updates, completed=start, headline="")
        self._row: Row = {}
        self._bar.start()

    def write(self, step: int, row: Row) -> None:
        """Move the bar; numbers measured earlier stay until measured again."""
        self._row |= row
        self._bar.update(self._task, completed=step, headline=headline(self._row))

    def close(self) -> None:
        """Leave the finished bar on the terminal."""
        try:
            self._bar.stop()
        except OSError:
            _nobody_reads()


class LineProgress:
    """Plain lines for logs and pipes: one at each evaluation, or every ``seconds``."""

    def __init__(self, title: str, num_updates: int, start: int, seconds: float = 30.0) -> None:
        self._title, self._num_updates, self._start = title, num_updates, start
        self._begun = self._last = time.monotonic()
        self._seconds = seconds

    def write(self, step: int, row: Row) -> None:
        """Print the row if it holds an evaluation, or if nothing was printed for long."""
        now = time.monotonic()
        evaluated = any(map(_WATCHED.fullmatch, row))
        if not evaluated and now - self._last < self._seconds:
            return
        self._last = now
        pace = (now - self._begun) / max(step - self._start, 1)
        left = pace * (self._num_updates - step)
        line = f"{self._title}  {step}/{self._num_updates}  {headline(row)}  {left:.0f} s left"
        try:
            print(line, flush=True)
        except OSError:
            _nobody_reads()

    def close(self) -> None:
        """Nothing to finish."""


def _nobody_reads() -> None:
    """Write to nowhere from here on: work is not lost because its reader is gone."""
    to_nowhere(1)
    try:
        print("warning: nobody reads standard output any more; going on", file=sys.stderr)
    except OSError:
        to_nowhere(2)


def to_nowhere(descriptor: int) -> None:
    """Let everything written to a file descriptor vanish."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def progress(title: str, num_updates: int, start: int = 0) -> BarProgress | LineProgress:
    """A bar on a terminal, plain lines otherwise."""
    console = Console()
    if console.is_terminal:
        return BarProgress(title, num_updates, start, console)
    return LineProgress(title, num_updates, start)
