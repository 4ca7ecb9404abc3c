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

from el_jax.runtime.files import to_nowhere
from el_jax.types import Row

Watched = Mapping[str, str]  # metric shown -> its name in the display


def watched(splits: Iterable[str], groups: Sequence[str]) -> Watched:
    """Loss, and the accuracy of every group of every split."""
    names = {
        f"{split}_{group}_accuracy": f"{split} {group}"
        for split in splits
        for group in reversed(groups)  # the group learnt last is the most watched
    }
    return {"batch_loss": "loss", **names}


def headline(row: Row, watched: Watched) -> str:
    """The watched numbers of a row, averaged over runs."""
    shown = {watched[name]: row[name] for name in watched if name in row}
    return "  ".join(
        f"{name} {np.nanmean(values):.3f}"
        for name, values in shown.items()
        if not np.isnan(values).all()  # a group without tokens
    )


class BarProgress:
    """A progress bar with loss, accuracy and time left, for a terminal."""

    def __init__(
        self, title: str, num_updates: int, start: int, watched: Watched, console: Console
    ) -> None:
        self._watched = watched
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
        self._bar.update(self._task, completed=step, headline=headline(self._row, self._watched))

    def close(self) -> None:
        """Leave the finished bar on the terminal."""
        try:
            self._bar.stop()
        except OSError:
            _nobody_reads()


class LineProgress:
    """Plain lines for logs and pipes: one at each evaluation, or every ``seconds``."""

    def __init__(
        self, title: str, num_updates: int, start: int, watched: Watched, seconds: float = 30.0
    ) -> None:
        self._title, self._num_updates, self._start = title, num_updates, start
        self._watched = watched
        self._begun = self._last = time.monotonic()
        self._seconds = seconds

    def write(self, step: int, row: Row) -> None:
        """Print the row if it holds an evaluation, or if the last line is ``seconds`` old."""
        now = time.monotonic()
        evaluated = any(name in row for name in self._watched if name != "batch_loss")
        if not evaluated and now - self._last < self._seconds:
            return
        self._last = now
        pace = (now - self._begun) / max(step - self._start, 1)
        left = pace * (self._num_updates - step)
        shown = headline(row, self._watched)
        line = f"{self._title}  {step}/{self._num_updates}  {shown}  {left:.0f} s left"
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
    title: str, num_updates: int, watched: Watched, start: int = 0
) -> BarProgress | LineProgress:
    """A bar on a terminal, plain lines otherwise."""
    console = Console()
    if console.is_terminal:
        return BarProgress(title, num_updates, start, watched, console)
    return LineProgress(title, num_updates, start, watched)
