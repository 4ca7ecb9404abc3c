"""A training's folder: one process at a time, one config for good, and files that explain it."""

import contextlib
import errno
import json
import pathlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from el_jax.checkpoint import Checkpoints
from el_jax.checkpoint_step import committed_steps, config_hash
from el_jax.process import environment
from el_jax.process.errors import ConfigError
from el_jax.process.files import write_durably
from el_jax.process.imports import files_in, fingerprints
from el_jax.process.lock import locked
from el_jax.process.processes import agreed, check_same, is_first
from el_jax.process.stop import StopSignal
from el_jax.training.fit import Training
from el_jax.training.progress import describe_reached, headline, progress, sweep_points
from el_jax.training.sinks import JsonLines, Sink, read_rows
from el_jax.training.state import TrainState
from el_jax.training.trackers import open_trackers

ROWS = "metrics.jsonl"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # the disk's fault, not the user's
_LISTED = 3  # differing keys in a message; the others are only counted


class Workdir:
    """The workdir of a training in progress, on all of its processes.

    As a context, it records signals and keeps other processes out. Process 0 writes the files.

    Args:
        folder: the folder, made if missing.
        config: the resolved config, as plain values.
        identity: returns the part of a config that may not change in a workdir.
        rows: seed and numbers of each run, in the order of every list in metrics.jsonl.
        imports: the user's own files.

    Attributes:
        stop: returns the signal that any process has received, or None; see ``fit``.

    Raises:
        ConfigError: the workdir was made with another config, or cannot be written.
        WorkdirBusyError: another process holds it.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        config: Mapping[str, Any],
        identity: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        rows: Sequence[dict[str, int | float]],
        imports: Sequence[str] = (),
    ) -> None:
        self.folder, self._config, self._identity = folder, config, identity
        self._runs, self._imports = rows, imports
        self._leaving = contextlib.ExitStack()
        self.checkpoints: Checkpoints

    def __enter__(self) -> "Workdir":
        with contextlib.ExitStack() as entering:
            signals = entering.enter_context(contextlib.closing(StopSignal()))
            self.stop: Callable[[], int | None] = agreed(signals)
            check_same("--config", self._config)
            if is_first():
                entering.enter_context(hold(self.folder))
                check_workdir(self.folder, self._config, self._identity)
            self._leaving = entering.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._leaving.__exit__(*error)

    def restore(self, training: Training, keep: int) -> TrainState | None:
        """Open the checkpoints; return the newest intact state, None if there is none.

        Args:
            training: the training that the state belongs to.
            keep: number of newest checkpoints to keep; 0 for all.

        Raises:
            CheckpointError: there are checkpoints, but none of them can be used.
        """
        program, num_updates = training.program, training.options.num_updates
        made = max(committed_steps(self.folder / "checkpoints"), default=0)
        if made > num_updates:
            raise ConfigError(
                f"config.train.num_updates={num_updates}: must be at least {made}, the number of "
                "updates that were made in this workdir"
            )
        self.checkpoints = self._leaving.enter_context(
            Checkpoints(
                self.folder / "checkpoints",
                config_hash(self._identity(self._config)),
                self.folder / ROWS,
                keep=keep,
                fetch=program.layout.fetch,
                origin=origin(self._imports, self._config.get("task"))
                | {"runs at once": str(program.spec.runs_at_once)},
            )
        )
        state = self.checkpoints.restore(program.init, program.layout.place_of_state)
        if is_first():  # not earlier: a refused config must not claim the workdir
            claim_workdir(self.folder, self._config, self._runs, sys.argv)
        return state

    def sinks(
        self, title: str, training: Training, start: int, tracker: str, profile: tuple[int, ...]
    ) -> Sequence[Sink]:
        """Open metrics.jsonl, the sinks of ``open_trackers`` and progress, on process 0."""

        def opened() -> Iterator[Sink]:
            yield JsonLines(self.folder / ROWS, self.checkpoints.row_bytes)
            yield from open_trackers(tracker, profile, self.folder, self._config, self._runs, start)
            updates, points = training.options.num_updates, sweep_points(self._runs)
            yield progress(title, updates, training.watched, start, points=points)

        sinks: list[Sink] = []
        for sink in opened() if is_first() else ():
            self._leaving.callback(sink.close)
            sinks.append(sink)
        return sinks

    def print_summary(self, training: Training) -> None:
        """Print the last numbers and the folder of all files."""
        if is_first():
            last = read_rows(self.folder / ROWS).rows[-1]
            numbers = headline(last, training.watched, sweep_points(self._runs))
            print(f"done: {training.options.num_updates} updates; {numbers}")
            if level := training.spec.stop_at_ce:
                print(describe_reached(level, last["reached_step"]))
            print(f"metrics and checkpoints: {self.folder}")


@contextlib.contextmanager
def hold(workdir: pathlib.Path) -> Iterator[None]:
    """Make the workdir if necessary, and keep every other process out of it.

    Raises:
        WorkdirBusyError: another process holds the workdir; the message names it.
        ConfigError: the workdir cannot be made or written.
        OSError: the disk is full.
    """
    with contextlib.ExitStack() as leaving:
        with _writing(workdir):
            workdir.mkdir(parents=True, exist_ok=True)
            leaving.enter_context(locked(workdir))
        yield


@contextlib.contextmanager
def _writing(workdir: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise OSError(error.errno, error.strerror, str(workdir)) from error
        raise ConfigError(f"--workdir={workdir}: cannot be written ({error.strerror})") from error


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A config's values by dotted key."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        path = f"{prefix}{key}"
        flat |= flatten(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return flat


def config_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Dotted keys at which two configs differ, each as ``key: old -> new``."""
    a, b = flatten(old), flatten(new)
    keys = sorted(k for k in a.keys() | b.keys() if a.get(k) != b.get(k))
    return [f"{k}: {a.get(k, 'absent')!r} -> {b.get(k, 'absent')!r}" for k in keys]


def _environment(argv: Sequence[str]) -> dict[str, Any]:
    commit, dirty = environment.checkout_state()
    return {
        "command": " ".join(argv),
        "commit": commit,
        "dirty": dirty,
        "hardware": environment.hardware(),
        "versions": environment.versions(),
        "XLA_FLAGS": environment.xla_flags(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def origin(imports: Sequence[str] = (), task: Any = None) -> dict[str, str]:
    """The influences on a training's results to the bit besides its config, by name.

    Args:
        imports: the user's files and modules.
        task: the task section of the config, which may name files.
    """
    commit, dirty = environment.checkout_state()
    versions, hardware = environment.versions(), environment.hardware()
    return {
        "jax": versions["jax"],
        "jaxlib": versions["jaxlib"],
        "commit": f"{commit[:12]}, changed" if dirty else commit[:12],
        "device": f"{hardware['num_devices']} {hardware['device_kind']}",
        "XLA_FLAGS": environment.xla_flags(),
        "imports": fingerprints(name for name in imports if name.endswith(".py")),
        **({"files": fingerprints(files)} if (files := files_in(task)) else {}),
    }


def check_workdir(
    workdir: pathlib.Path,
    config: Mapping[str, Any],
    identity: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
) -> None:
    """Raise unless a workdir belongs to this config or is unused.

    A workdir is unused if it has no config.json, or if its training ended before the first row, say
    for lack of memory.

    Args:
        workdir: the folder.
        config: the resolved config, as plain values.
        identity: returns the part of a config that may not change in a workdir.

    Raises:
        ConfigError: the workdir was made with another config.
    """
    path = workdir / "config.json"
    if path.exists() and not _is_unused(workdir):
        _check_same(workdir, identity(_read_config(path)), identity(config))


def claim_workdir(
    workdir: pathlib.Path,
    config: Mapping[str, Any],
    runs: Sequence[dict[str, int | float]],
    argv: Sequence[str],
) -> None:
    """Write config.json (resolved), runs.json and environment.json.

    Args:
        workdir: the folder, which has passed :func:`check_workdir`.
        config: the resolved config, as plain values.
        runs: seed and numbers of each run, in the order of every list in metrics.jsonl.
        argv: the command line.

    Raises:
        ConfigError: the workdir cannot be written.
        OSError: the disk is full.
    """
    with _writing(workdir):
        path = workdir / "config.json"
        write_json(path, config)
        write_json(workdir / "runs.json", list(runs))
        write_json(workdir / "environment.json", _environment(argv))


def _is_unused(workdir: pathlib.Path) -> bool:
    """True if a command claimed the workdir but left no row, checkpoint or analysis in it."""
    rows = workdir / "metrics.jsonl"
    ours = all((workdir / name).exists() for name in ("runs.json", "environment.json"))
    has_rows = rows.exists() and rows.stat().st_size > 0
    analysed = any((workdir / name).exists() for name in ("analysis.npz", "trajectory.csv"))
    return ours and not (has_rows or analysed or _has_checkpoints(workdir))


def _has_checkpoints(workdir: pathlib.Path) -> bool:
    return any((workdir / "checkpoints").glob("[0-9]*"))


def _read_config(path: pathlib.Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        config = error
    if not isinstance(config, dict):
        raise ConfigError(
            f"{path} is damaged; delete it, and checkpoints tell whether they are of this config"
        )
    return config


def _check_same(workdir: pathlib.Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    different = config_differences(old, new)
    if different:
        more = f"; and {len(different) - _LISTED} more" if len(different) > _LISTED else ""
        raise ConfigError(
            f"--workdir={workdir} holds a run with another config "
            f"({'; '.join(different[:_LISTED])}{more}); use another workdir"
        )


def write_json(path: pathlib.Path, value: Any) -> None:
    """Write readable JSON, whole or not at all."""
    write_durably(path, json.dumps(value, indent=1, sort_keys=True) + "\n")
