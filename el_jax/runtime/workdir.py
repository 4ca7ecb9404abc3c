"""The folder of a run: one process at a time, one config for ever, and files that explain it."""

import contextlib
import errno
import json
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from el_jax.runtime import arithmetic, environment
from el_jax.runtime.errors import ConfigError
from el_jax.runtime.files import write_durably
from el_jax.runtime.imports import fingerprints
from el_jax.runtime.lock import Lock, acquire

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # of the disk, not of the command
_LISTED = 3  # differing keys in a message; of more, the number


@contextlib.contextmanager
def hold(workdir: pathlib.Path) -> Iterator[Lock]:
    """Make the workdir if need be, and keep every other process out of it.

    The operating system releases the lock when the process ends, however it ends.

    Raises:
        WorkdirBusyError: another process holds the workdir; the message names it.
        ConfigError: the workdir cannot be made or written.
        OSError: the disk is full.
    """
    with _writing(workdir):
        workdir.mkdir(parents=True, exist_ok=True)
        lock = acquire(workdir)
    try:
        yield lock
    finally:
        lock.release()


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
        "arithmetic": arithmetic.record(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def origin(imports: Sequence[str] = ()) -> dict[str, str]:
    """The environment on which the bits of a training depend besides its config, by name.

    Args:
        imports: files and modules of the user.
    """
    commit, dirty = environment.checkout_state()
    versions, hardware = environment.versions(), environment.hardware()
    return {
        "jax": versions["jax"],
        "jaxlib": versions["jaxlib"],
        "commit": f"{commit[:12]}, changed" if dirty else commit[:12],
        "device": f"{hardware['num_devices']} {hardware['device_kind']}",
        "XLA_FLAGS": arithmetic.record()["xla_flags"],
        "imports": fingerprints(imports),
    }


def check_workdir(
    workdir: pathlib.Path,
    config: Mapping[str, Any],
    identity: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
) -> None:
    """Raise unless a workdir belongs to this config or is unused.

    A workdir is unused if it has no config.json, or if its training ended before the first row, for
    lack of memory say.

    Args:
        workdir: the folder.
        config: the resolved config, as plain values.
        identity: from a config to the part of it that may not change in a workdir.

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
        workdir: the folder, which :func:`check_workdir` has found right.
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
    """True if a command took the workdir and left it without a row, a checkpoint or an analysis."""
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
