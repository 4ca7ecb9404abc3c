"""Checkpoints: orbax writes the arrays, and a file of SHA-256 sums reveals any change.

    checkpoints/40/arrays/        by orbax
    checkpoints/40/about.json     step, config, arrays, rows of metrics.jsonl, environment
    checkpoints/40/SHA256SUMS     of every file; `sha256sum -c SHA256SUMS` checks them by hand
    checkpoints/unfinished-60/    being written, or left by a process that was killed

A folder gets the name of its step last, when all of it is on disk. With several processes, the
first one reads and writes the files.
"""

import concurrent.futures
import contextlib
import pathlib
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import jax

from el_jax.checkpoint_step import (
    ARRAYS,
    FORMAT,
    DamagedError,
    Placement,
    S,
    State,
    committed_steps,
    describe,
    import_orbax,
    on_first_device,
    read_step,
    reason,
    seal,
    sha256_of,
    start_saving,
)
from el_jax.process.errors import NO_ROOM, ConfigError, UserError
from el_jax.process.files import sync
from el_jax.process.processes import from_first, is_first

_UNFINISHED = "unfinished-"


class CheckpointError(UserError, RuntimeError):
    """A checkpoint cannot be written, or none can be read."""

    exit_code = NO_ROOM


class Checkpoints:
    """The checkpoints of one workdir; a context manager, since saving runs in the background.

    Args:
        folder: folder of the checkpoints, made if missing.
        config_sha256: see :func:`config_hash`.
        rows: an append-only file such as metrics.jsonl, whose rows a resumed run does not rewrite.
        keep: number of newest intact checkpoints to keep; 0 for all.
        fetch: maps a tree of arrays on any devices to whole NumPy arrays; for several processes.
        origin: everything besides the config that affects results to the bit; differences from the
            restored checkpoint's are reported.
        warn: called with one line for each unusable checkpoint and each difference in origin.

    Attributes:
        row_bytes: size of the rows that the restored checkpoint covers; 0 if none was restored.

    Raises:
        ConfigError: the folder's path has a letter that orbax takes for a pattern.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        config_sha256: str = "",
        rows: pathlib.Path | None = None,
        *,
        keep: int = 2,
        fetch: Callable[[Any], Any] = jax.device_get,
        origin: Mapping[str, str] | None = None,
        warn: Callable[[str], None] = lambda line: print(f"warning: {line}", file=sys.stderr),
    ) -> None:
        self.folder, self.row_bytes = folder.absolute(), 0  # orbax takes no other path
        self._config_sha256, self._rows, self._keep = config_sha256, rows, keep
        self._fetch, self._warn = fetch, warn
        self._origin = dict(origin or {})
        if re.search(r"[\\\[\]*?]", self.folder.as_posix()):
            raise ConfigError(f"{self.folder}: must have none of \\ [ ] * ?, a pattern for orbax")
        self._bad: set[int] = set()  # steps found damaged
        self._background = concurrent.futures.ThreadPoolExecutor(1, "checkpoint")
        self._saving: concurrent.futures.Future[None] | None = None
        if is_first():
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.glob(f"{_UNFINISHED}*"):
                shutil.rmtree(left, ignore_errors=True)

    def prepare(self) -> None:
        """Import orbax in the background, so that the first save does not delay the updates."""
        self._background.submit(import_orbax)

    def save(self, state: State) -> None:
        """Start saving; return when the arrays are copied, before they are on disk.

        First waits for an earlier save to reach the disk.

        Raises:
            CheckpointError: this checkpoint, or the previous one, cannot be written.
        """
        self.wait()
        if jax.process_count() > 1:
            state = self._fetch(state)
        step = int(state.step)
        if not is_first() or step in set(committed_steps(self.folder)) - self._bad:
            return
        unfinished = self.folder / f"{_UNFINISHED}{step}"
        about = {
            "format": FORMAT,
            "step": step,
            "config_sha256": self._config_sha256,
            "arrays": describe(state),
            "origin": self._origin,
        }
        try:
            # read now: updates continue and append rows while the arrays are written
            size = self._rows.stat().st_size if self._rows else 0
            unfinished.mkdir()
            written = start_saving(unfinished / ARRAYS, state)
        except Exception as error:  # orbax passes on errors of its libraries
            raise self._cannot_write(step, error) from error
        self._saving = self._background.submit(self._commit, unfinished, written, about, size)

    def wait(self) -> None:
        """Wait until the save in progress is on disk.

        Raises:
            CheckpointError: the checkpoint cannot be written.
        """
        saving, self._saving = self._saving, None
        if saving is not None:
            saving.result()

    def restore(self, init: Callable[[], S], place: Placement = on_first_device) -> S | None:
        """The newest intact state, on every process; None if nothing was ever saved.

        Args:
            init: returns a state with the required structure, shapes and types; only traced.
            place: maps the shape of an array to its sharding; unused on several processes, since
                each has the whole state in NumPy.

        Raises:
            CheckpointError: there are checkpoints, but none of them can be used.
        """
        target = jax.eval_shape(init)
        if jax.process_count() == 1:
            return self._newest(target, place)
        found = self._newest(target, on_first_device) if is_first() else None
        return from_first(found, target)

    def _newest(self, target: S, place: Placement) -> S | None:
        steps = committed_steps(self.folder)
        for step in reversed(steps):
            try:
                folder = self.folder / str(step)
                state, about = read_step(folder, target, self._config_sha256, self._rows, place)
            except DamagedError as error:
                self._bad.add(step)
                self._warn(f"checkpoint of step {step} is not used: {error}")
                continue
            self.row_bytes = about["rows"][0]
            for name in sorted(self._origin):
                old, new = about["origin"].get(name, ""), self._origin[name]
                if old != new:
                    said = "your code has changed," if name == "imports" else "bits may differ by"
                    self._warn(f"since step {step}, {said} {name}: {old!r} -> {new!r}")
            return state
        if steps:
            raise CheckpointError(
                f"none of the {len(steps)} checkpoints in {self.folder} can be used; put back a "
                "copy, or delete that folder to start over"
            )
        return None

    def _commit(
        self,
        unfinished: pathlib.Path,
        written: Callable[[], None],
        about: dict[str, Any],
        size: int,
    ) -> None:
        """In the background: wait for orbax, write the sums, rename the folder."""
        step = about["step"]
        try:
            written()
            if self._rows is not None:
                sync(self._rows)
            about["rows"] = (size, sha256_of(self._rows, size) if self._rows else "")
            seal(unfinished, about)
            self._remove(step)  # found damaged
            unfinished.rename(self.folder / str(step))
            sync(self.folder)
        except Exception as error:
            raise self._cannot_write(step, error) from error
        self._bad.discard(step)
        for bad in self._bad:
            self._remove(bad)
        steps = committed_steps(self.folder)
        for old in steps[: -self._keep] if self._keep else ():
            self._remove(old)

    def _remove(self, step: int) -> None:
        """Rename, then delete: a kill never leaves a half-deleted checkpoint under its step."""
        with contextlib.suppress(FileNotFoundError):
            old = (self.folder / str(step)).rename(self.folder / f"{_UNFINISHED}old-{step}")
            shutil.rmtree(old, ignore_errors=True)

    def _cannot_write(self, step: int, error: Exception) -> CheckpointError:
        _clear(self.folder / f"{_UNFINISHED}{step}")
        steps = [known for known in committed_steps(self.folder) if known not in self._bad]
        kept = f"that of step {max(steps)} is intact" if steps else "there is none yet"
        return CheckpointError(
            f"{self.folder}: cannot write the checkpoint of step {step} ({reason(error)}); {kept}"
        )

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.wait()
        finally:
            self._background.shutdown()


def _clear(unfinished: pathlib.Path) -> None:
    """Delete a checkpoint that cannot be written, since it takes up room.

    After an error, orbax's storage goes on writing its other files for a while and makes folders
    for them, so the folder is deleted until it stays deleted or two seconds have passed.
    """
    for _ in range(20):
        shutil.rmtree(unfinished, ignore_errors=True)
        time.sleep(0.1)
        if not unfinished.exists():
            return
