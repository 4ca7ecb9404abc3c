"""Sinks for other tools: TensorBoard's event files, trackio, Weights & Biases, jax's profiler.

All get the rows of metrics.jsonl as they are written. Values that are not finite are left out.
"""

import contextvars
import functools
import importlib
import math
import os
import pathlib
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax

from el_jax.process.errors import MissingPackageError
from el_jax.training.sinks import Sink
from el_jax.types import Row

TRACKERS = ("tensorboard", "trackio", "wandb")
PROJECT = "el_jax"  # unless WANDB_PROJECT, read for trackio as well, names another


def open_trackers(
    name: str,
    profile: tuple[int, ...],
    folder: pathlib.Path,
    config: Mapping[str, Any],
    runs: Sequence[Mapping[str, int | float]],
    start: int = 0,
) -> Iterator[Sink]:
    """Open the sinks that a training's config names.

    Args:
        name: one of ``TRACKERS``, or empty.
        profile: first and last update of a trace of the devices, or empty.
        folder: the workdir.
        config: the resolved config.
        runs: seed and numbers of each run.
        start: the step from which training continues.

    Raises:
        MissingPackageError: trackio or wandb is not installed.
        OSError: an event file cannot be written.
    """
    if name == "tensorboard":
        yield TensorBoard(folder / name, start)
    elif name:
        yield TrackedRuns(name, folder, config, runs)
    if profile:
        first, last = profile
        yield Profile(folder / "profile", (first, last))


class TrackedRuns:
    """A run of trackio or wandb, which share an API, for each run of a training.

    Their own variables set destination and account: ``WANDB_MODE=offline``, ``TRACKIO_SPACE_ID``.
    Runs are grouped by the workdir's name and a mark kept in it, so that another training in a
    folder of that name gets runs of its own. A resumed training continues its runs; rows since its
    checkpoint are logged again, with the same numbers.

    Args:
        package: trackio or wandb.
        folder: the workdir.
        config: the resolved config, the same for all.
        runs: seed and numbers of each run, which name it.

    Raises:
        MissingPackageError: it is not installed.
        OSError: the mark cannot be written.
    """

    def __init__(
        self,
        package: str,
        folder: pathlib.Path,
        config: Mapping[str, Any],
        runs: Sequence[Mapping[str, int | float]],
    ) -> None:
        try:
            module = importlib.import_module(package)
        except ImportError as error:
            raise MissingPackageError(
                f"config.train.tracker={package!r}: pip install {package}"
            ) from error
        mark = folder / "tracker.txt"
        if not mark.exists():
            mark.write_text(secrets.token_hex(3))
        group = f"{folder.name}-{mark.read_text()}"
        project = os.environ.get("WANDB_PROJECT", PROJECT)
        varying = [name for name in runs[0] if len({run[name] for run in runs}) > 1] or ["seed"]
        self._runs = []
        for run in runs:
            name = ", ".join([group, *(f"{key}={run[key]}" for key in varying)])
            own: dict[str, Any] = {"embed": False}
            if package == "wandb":  # an id that stays the same when the training is resumed
                own = {"id": "".join(c if c.isalnum() else "-" for c in name)}
                own["reinit"] = "create_new"
            make = functools.partial(
                module.init, project=project, name=name, group=group, resume="allow", **own
            )
            # in its own context, since trackio's init ends the current context's run
            self._runs.append(contextvars.Context().run(make, config={**config, "run": dict(run)}))

    def write(self, step: int, row: Row) -> None:
        """Log the finite values of each run."""
        for place, run in enumerate(self._runs):
            values = {name: float(each[place]) for name, each in row.items()}
            run.log({k: v for k, v in values.items() if math.isfinite(v)}, step=step)

    def close(self) -> None:
        """Finish all runs."""
        for run in self._runs:
            run.finish()


class TensorBoard:
    """Scalars for TensorBoard, one curve per run: ``test_hard_accuracy/run_3``.

    Args:
        folder: folder of the event files.
        resume_step: events after this step are purged, since they will be written again.

    Raises:
        OSError: an event file cannot be written.
    """

    def __init__(self, folder: pathlib.Path, resume_step: int = 0) -> None:
        # Its import takes 0.5 s, and few runs need it. Its SummaryWriter hands events to a thread
        # that dies on a full disk; the training would then wait for it for ever.
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto.event_pb2 import Event, SessionLog
        from tensorboardX.summary import scalar

        folder.mkdir(parents=True, exist_ok=True)
        self._event, self._scalar = Event, scalar
        self._writer = EventsWriter(str(folder / "events"), f".{os.getpid()}")
        purge = SessionLog(status=SessionLog.START)
        self._writer.write_event(
            Event(wall_time=time.time(), step=resume_step + 1, session_log=purge)
        )

    def write(self, step: int, row: Row) -> None:
        """Add every finite value and hand them to the operating system."""
        now = time.time()
        for name, values in row.items():
            for run, value in enumerate(values):
                if math.isfinite(value):
                    summary = self._scalar(f"{name}/run_{run}", value)
                    self._writer.write_event(self._event(wall_time=now, step=step, summary=summary))
        self._writer.flush()

    def close(self) -> None:
        """Close the event file."""
        self._writer.close()


class Profile:
    """A trace of the devices between two updates, for xprof or TensorBoard's profile plugin.

    It begins and ends with the first row of metrics at or after each of these updates.

    Args:
        folder: the folder for the trace.
        span: the two updates.
    """

    def __init__(self, folder: pathlib.Path, span: tuple[int, int]) -> None:
        self._folder, self._span, self._tracing = folder, span, False

    def write(self, step: int, row: Row) -> None:
        """Begin or end the trace if due."""
        del row
        first, last = self._span
        if self._tracing and step >= last:
            self.close()
        elif not self._tracing and first <= step < last:
            jax.profiler.start_trace(str(self._folder))
            self._tracing = True

    def close(self) -> None:
        """Write the trace if it is still running."""
        if self._tracing:
            jax.profiler.stop_trace()
            self._tracing = False
