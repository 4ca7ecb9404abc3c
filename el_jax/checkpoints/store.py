"""Checkpoints of a training: orbax for the arrays, behind a manifest of our own.

    checkpoints/40/arrays/         written by orbax
    checkpoints/40/manifest.json   step, config, arrays, size and SHA-256 of every file
    checkpoints/unfinished-60-1f/  being written, or left by a process that was killed

A folder gets the name of its step last, when all of it is on disk. ``checkpoints`` may be a link to
another disk.
"""

import concurrent.futures
import pathlib
import sys
from collections.abc import Callable, Mapping
from types import TracebackType

import jax

from el_jax.checkpoints import arrays, manifest
from el_jax.checkpoints.arrays import S, State
from el_jax.checkpoints.folders import StepFolders
from el_jax.checkpoints.manifest import DamagedError, FormatError, Leaf, Manifest
from el_jax.checkpoints.steps import (
    ARRAYS,
    Placement,
    check_step,
    describe,
    first_line,
    load_step,
    on_first_device,
)
from el_jax.runtime.errors import NO_ROOM, UserError, WorkdirBusyError
from el_jax.runtime.files import sync
from el_jax.runtime.lock import Lock


class CheckpointError(UserError, RuntimeError):
    """A checkpoint cannot be written, or none can be read."""

    exit_code = NO_ROOM


def _warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr, flush=True)


class Checkpoints:
    """The checkpoints of one workdir; a context manager, since saving goes on in the background.

    One process at a time holds the folder. It deletes only steps that it found at its start, or
    wrote, and the unfinished folders of a process that was killed.

    Args:
        folder: folder of the checkpoints, one sub-folder per step.
        keep: number of newest intact checkpoints that are kept; 0 for all.
        config_sha256: hash of the training's config, see ``manifest.config_hash``.
        rows: an append-only file such as metrics.jsonl. A checkpoint stores a digest of its
            contents so far, because a resumed run does not rewrite them.
        lock: lock of the workdir, checked before anything is changed.
        origin: see ``Manifest``; each difference from the restored checkpoint's is reported.
        groups: see ``Manifest``; recorded by every save, and filled by ``restore``.
        warn: called with one line for each unusable checkpoint and each difference of origin.

    Attributes:
        row_bytes: size of the rows that the restored checkpoint covers; 0 if none was restored.

    Raises:
        WorkdirBusyError: another process has the folder open for writing.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        keep: int = 2,
        *,
        config_sha256: str = "",
        rows: pathlib.Path | None = None,
        lock: Lock | None = None,
        origin: Mapping[str, str] | None = None,
        groups: dict[str, int] | None = None,
        warn: Callable[[str], None] = _warn,
    ) -> None:
        self._keep, self.row_bytes = keep, 0
        self._config_sha256, self._rows, self._warn = config_sha256, rows, warn
        self._origin, self._groups = dict(origin or {}), {} if groups is None else groups
        self._folders = StepFolders(folder, lock)
        self._steps = sorted(self._folders.own)  # not known to be damaged
        self._background = concurrent.futures.ThreadPoolExecutor(1, "checkpoint")
        self._saving: concurrent.futures.Future[None] | None = None
        self._saving_step: int | None = None

    def latest_step(self) -> int | None:
        """Step of the newest checkpoint, complete or being written by this process."""
        return max([*self._steps, self._saving_step or 0], default=0) or None

    def prepare(self) -> None:
        """Import orbax in the background, so that the first save does not delay the updates."""
        self._background.submit(arrays.import_orbax)

    def save(self, state: State) -> None:
        """Start saving; returns when the arrays are copied, before they are on disk.

        Waits for an earlier save that is not on disk yet.

        Raises:
            CheckpointError: this checkpoint, or the one before, cannot be written.
            WorkdirBusyError: the workdir is no longer this process's; nothing was touched.
        """
        self.wait()
        step = int(state.step)
        if step in self._steps:
            return
        unfinished = self._folders.name_unfinished(step)
        # taken now, since the updates go on and append rows while the arrays are written
        num_bytes = self._rows.stat().st_size if self._rows else 0
        try:
            self._folders.check()
            unfinished.mkdir()
            written = arrays.start_saving(unfinished / ARRAYS, state)
        except Exception as error:  # orbax passes on those of its libraries
            raise self._cannot_write(step, unfinished, error) from error
        self._saving_step = step
        self._saving = self._background.submit(
            self._commit, step, unfinished, written, describe(state), num_bytes
        )

    def wait(self) -> None:
        """Wait until the save in progress is on disk.

        Raises:
            CheckpointError: the checkpoint cannot be written.
            WorkdirBusyError: the workdir is no longer this process's; nothing was touched.
        """
        saving = self._saving
        self._saving = self._saving_step = None
        if saving is not None:
            saving.result()

    def restore(self, init: Callable[[], S], place: Placement = on_first_device) -> S | None:
        """The newest intact state, or None if nothing was ever saved.

        Each newer checkpoint that is damaged, or of another training, is reported in one line; the
        next save removes it.

        Args:
            init: returns a state with the structure, shapes and types needed; it is only traced.
            place: from the shape of an array to its sharding, whatever devices it was saved from.

        Raises:
            CheckpointError: there are checkpoints, but none of them can be used.
        """
        found = manifest.committed_steps(self._folders.path)
        target = jax.eval_shape(init) if found else None
        for step in reversed(found):
            try:
                written = self._check(step, describe(target))
                state: S = load_step(self._folders.of(step), target, place)
            except FormatError as error:
                raise CheckpointError(
                    f"{self._folders.of(step)} is of another version of el_jax ({error}); go on "
                    "with the commit in environment.json, or use another workdir"
                ) from error
            except DamagedError as error:
                self._steps.remove(step)
                self._warn(f"checkpoint of step {step} is not used: {error}")
            else:
                self._go_on_from(written)
                return state
        if found:
            raise CheckpointError(
                f"none of the {len(found)} checkpoints in {self._folders.path} can be used; "
                "put back a copy, or delete that folder to start over"
            )
        return None

    def _check(self, step: int, needed: tuple[Leaf, ...]) -> Manifest:
        folder = self._folders.of(step)
        return check_step(folder, needed, self._config_sha256, self._rows)

    def _go_on_from(self, written: Manifest) -> None:
        self.row_bytes = written.rows.size if written.rows else 0
        self._groups.update(written.groups)
        for difference in manifest.origin_differences(written.origin, self._origin):
            self._warn(f"since step {written.step}, bits may differ by {difference}")

    def _commit(
        self,
        step: int,
        unfinished: pathlib.Path,
        written: Callable[[], None],
        tree: tuple[Leaf, ...],
        num_row_bytes: int,
    ) -> None:
        """In the background: wait for orbax, write the manifest, give the folder its name."""
        try:
            written()
            rows = None
            if self._rows is not None:
                sync(self._rows)
                rows = manifest.digest(self._rows, num_row_bytes)
            files, groups = manifest.digest_files(unfinished), dict(self._groups)
            described = Manifest(step, self._config_sha256, tree, files, rows, self._origin, groups)
            manifest.write(unfinished, described)
            self._folders.publish(unfinished, step)
        except Exception as error:
            raise self._cannot_write(step, unfinished, error) from error
        self._steps = sorted([*self._steps, step])[-self._keep :]  # [-0:] is all of them
        for other in self._folders.own - set(self._steps):
            self._folders.remove(other)

    def _cannot_write(self, step: int, unfinished: pathlib.Path, error: Exception) -> Exception:
        self._folders.abandon(unfinished)
        try:
            self._folders.check()
        except WorkdirBusyError as lost:
            return lost
        kept = f"that of step {max(self._steps)} is intact" if self._steps else "there is none yet"
        return CheckpointError(
            f"{self._folders.path}: cannot write the checkpoint of step {step} "
            f"({first_line(error)}); {kept}"
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
            self._folders.close()
