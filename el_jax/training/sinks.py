"""Sinks for rows of metrics: memory and metrics.jsonl; other tools' are in ``trackers``."""

import errno
import json
import math
import os
import pathlib
from typing import Any, Protocol, runtime_checkable

import numpy as np

from el_jax.types import Row


@runtime_checkable
class Sink(Protocol):
    """A receiver of metrics, one row at a time."""

    def write(self, step: int, row: Row) -> None:
        """Take the row of ``step``, one value per run for each metric."""

    def close(self) -> None:
        """Finish; no row may follow."""


class History:
    """A sink that keeps every row in memory, for notebooks and experiments."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.rows: list[Row] = []

    def write(self, step: int, row: Row) -> None:
        """Keep the row."""
        self.steps.append(step)
        self.rows.append(row)

    def close(self) -> None:
        """No-op: the rows stay in memory."""

    def curve(self, metric: str) -> tuple[np.ndarray, np.ndarray]:
        """Steps ``[rows]`` at which ``metric`` was measured and its values ``[rows, R]``.

        Raises:
            KeyError: no row holds the metric; the message lists the known metrics.
        """
        found = [(s, r[metric]) for s, r in zip(self.steps, self.rows, strict=True) if metric in r]
        if not found:
            known = sorted({name for row in self.rows for name in row})
            raise KeyError(f"metric={metric!r} was never written; there are {known}")
        return np.asarray([s for s, _ in found]), np.stack([values for _, values in found])


def _json_value(value: float) -> float | None:
    return float(f"{value:.9g}") if math.isfinite(value) else None  # JSON has no NaN


class JsonLines:
    """metrics.jsonl: one JSON object a line, ``{"step": 100, "test_ce": [one value per run]}``.

    Args:
        path: the file, made if missing.
        num_bytes: length of the rows that the restored checkpoint covers. The rest of the file is
            cut off, since its rows will be written again.

    Raises:
        OSError: the file cannot be written, or is a link to a file of another run.
    """

    def __init__(self, path: pathlib.Path, num_bytes: int = 0) -> None:
        linked = path.is_symlink() or (path.exists() and path.stat().st_nlink > 1)
        if linked or (path.exists() and not path.is_file()):
            why = f"{path.name} is a link or no ordinary file; delete it"
            raise OSError(errno.ELOOP, why, str(path))
        self._path = path
        self._file = path.open("ab", buffering=0)
        # truncation in place needs no room on a full disk and cannot be half done
        self._file.truncate(num_bytes)

    def write(self, step: int, row: Row) -> None:
        """Append one line and hand it to the operating system.

        Raises:
            OSError: the disk is full, say; the file is as it was before.
        """
        values = {name: [_json_value(v) for v in row[name]] for name in sorted(row)}
        line = (json.dumps({"step": step, **values}) + "\n").encode()
        before = os.fstat(self._file.fileno()).st_size
        try:
            while line:
                line = line[self._file.write(line) :]  # a full disk may take only part of it
        except OSError as error:
            self._file.truncate(before)
            raise OSError(error.errno, error.strerror, str(self._path)) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _complete_lines(path: pathlib.Path) -> list[bytes]:
    # a killed process may leave half a line at the end
    content = path.read_bytes() if path.exists() else b""
    return [line for line in content.splitlines(keepends=True) if line.endswith(b"\n")]


def read_rows(path: pathlib.Path) -> History:
    """Read metrics.jsonl back."""
    history = History()
    for line in _complete_lines(path):
        values: dict[str, Any] = json.loads(line)
        step = values.pop("step")
        row = {k: np.asarray([math.nan if x is None else x for x in v]) for k, v in values.items()}
        history.write(step, row)
    return history
