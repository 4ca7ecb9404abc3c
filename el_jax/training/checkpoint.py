"""Checkpoints of a training: orbax for the arrays, behind a manifest of our own.

    checkpoints/40/arrays/         what orbax wrote
    checkpoints/40/manifest.json   step, config, arrays, size and SHA-256 of every file
    checkpoints/unfinished-60/     being written, or left by a process that was killed

A folder gets the name of its step last, when all of it is on disk.
"""

import concurrent.futures
import pathlib
import shutil
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

import jax

from el_jax.training import arrays, manifest
from el_jax.training.manifest import DamagedError, Digest, Leaf, Manifest
from el_jax.training.state import TrainState

ARRAYS = "arrays"  # folder of a step that orbax writes
_UNFINISHED, _DISCARDED = "unfinished-", "discarded-"

Placement = Callable[[jax.ShapeDtypeStruct], jax.sharding.Sharding]


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written, or none can be read; the message is one line."""


def describe(tree: Any) -> tuple[Leaf, ...]:
    """Path, shape and type of every array of a tree, of arrays or of their shapes."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return tuple(
        Leaf(jax.tree_util.keystr(path, simple=True, separator="/"), leaf.shape, str(leaf.dtype))
        for path, leaf in leaves
    )


def on_first_device(_: jax.ShapeDtypeStruct) -> jax.sharding.Sharding:
    """Where a training on one device has its state."""
    return jax.sharding.SingleDeviceSharding(jax.local_devices()[0])


def _warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr, flush=True)


def _remove(path: pathlib.Path) -> None:
    """Delete a folder that has a step's name; killed halfway, none is left with that name."""
    discarded = path.with_name(_DISCARDED + path.name)
    shutil.rmtree(discarded, ignore_errors=True)
    path.rename(discarded)
    if discarded.is_dir():
        shutil.rmtree(discarded, ignore_errors=True)
    else:
        discarded.unlink()


class Checkpoints:
    """The checkpoints of one workdir; a context manager, since saving goes on in the background.

    One process at a time. What a killed one left half written is deleted.

    Args:
        folder: where they lie, one sub-folder per step.
        keep: how many of the newest intact ones are kept.
        config_sha256: the config they belong to, see ``manifest.config_hash``.
        rows: a file that grows by what a training that goes on does not write again, such as
            metrics.jsonl; a checkpoint vouches for what the file holds when it is made.
        warn: told of each checkpoint that cannot be used, in one line.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        keep: int = 2,
        *,
        config_sha256: str = "",
        rows: pathlib.Path | None = None,
        warn: Callable[[str], None] = _warn,
    ) -> None:
        self._folder, self._keep = folder.absolute(), keep
        self._config_sha256, self._rows, self._warn = config_sha256, rows, warn
        self._folder.mkdir(parents=True, exist_ok=True)
        self._steps = manifest.committed_steps(self._folder)  # not known to be damaged
        self._background = concurrent.futures.ThreadPoolExecutor(1, "checkpoint")
        self._saving: concurrent.futures.Future[None] | None = None
        self._saving_step: int | None = None
        for pattern in (_UNFINISHED, _DISCARDED):
            for left in self._folder.glob(f"{pattern}*"):
                shutil.rmtree(left, ignore_errors=True)

    def latest_step(self) -> int | None:
        """Step of the newest checkpoint, complete or being written by this process."""
        return max([*self._steps, self._saving_step or 0], default=0) or None

    def prepare(self) -> None:
        """Import in the background what the first save would else make updates wait for."""
        self._background.submit(arrays.import_orbax)

    def save(self, state: TrainState) -> None:
        """Start saving; returns when the arrays are copied, before they are on disk.

        Waits for an earlier save that is not on disk yet.

        Raises:
            CheckpointError: this checkpoint, or the one before, cannot be written.
        """
        self.wait()
        step = int(state.step)
        if step in self._steps:
            return
        unfinished = self._folder / f"{_UNFINISHED}{step}"
        num_bytes = self._rows.stat().st_size if self._rows else 0
        try:
            unfinished.mkdir()
            written = arrays.start_saving(unfinished / ARRAYS, state)
        except Exception as error:  # orbax raises what its libraries do
            raise self._cannot_write(step, error) from error
        self._saving_step = step
        self._saving = self._background.submit(
            self._commit, step, written, describe(state), num_bytes
        )

    def wait(self) -> None:
        """Wait until what is being saved is on disk.

        Raises:
            CheckpointError: it cannot be written.
        """
        saving, step = self._saving, self._saving_step
        self._saving = self._saving_step = None
        if saving is None or step is None:
            return
        try:
            saving.result()
        except Exception as error:
            raise self._cannot_write(step, error) from error

    def restore(
        self, init: Callable[[], TrainState], place: Placement = on_first_device
    ) -> TrainState | None:
        """The newest intact state, or None where nothing was ever saved.

        Each newer checkpoint that is damaged, or of another training, is told in one line; the
        next one saved removes it.

        Args:
            init: gives a state with the structure, shapes and types that are needed; only traced.
            place: where each array goes, whatever devices it was saved from.

        Raises:
            CheckpointError: there are checkpoints, but none of them can be used.
        """
        found = manifest.committed_steps(self._folder)
        target = jax.eval_shape(init) if found else None
        for step in reversed(found):
            try:
                self._check(step, describe(target))
                return self._load(step, target, place)
            except DamagedError as error:
                self._steps.remove(step)
                self._warn(f"checkpoint of step {step} is not used: {error}")
        if found:
            raise CheckpointError(
                f"none of the {len(found)} checkpoints in {self._folder} can be used; "
                "put back a copy, or delete that folder to start over"
            )
        return None

    def _check(self, step: int, needed: tuple[Leaf, ...]) -> None:
        folder = self._folder / str(step)
        written = manifest.read(folder)
        if written.config_sha256 != self._config_sha256:
            raise DamagedError(f"{manifest.MANIFEST}: it is of a training with another config")
        manifest.check_tree(written, needed)
        manifest.check_files(folder, written)

    def _load(self, step: int, target: Any, place: Placement) -> TrainState:
        placed = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place(leaf)), target
        )
        try:
            return arrays.load(self._folder / str(step) / ARRAYS, placed)
        except Exception as error:  # as written, but not for this orbax or this machine
            raise DamagedError(f"{ARRAYS}: orbax cannot read it ({_first_line(error)})") from error

    def _commit(
        self,
        step: int,
        written: Callable[[], None],
        tree: tuple[Leaf, ...],
        num_row_bytes: int,
    ) -> None:
        """In the background: wait for orbax, write the manifest, give the folder its name."""
        unfinished, folder = self._folder / f"{_UNFINISHED}{step}", self._folder / str(step)
        written()
        beginnings: dict[str, Digest] = {}
        if self._rows is not None:
            manifest.sync(self._rows)
            name = f"../{self._rows.name}"
            beginnings[name] = manifest.digest(self._rows, num_row_bytes)
        files = manifest.digest_files(unfinished)
        manifest.write(unfinished, Manifest(step, self._config_sha256, tree, files, beginnings))
        if folder.exists():
            _remove(folder)  # it was found damaged
        unfinished.rename(folder)
        manifest.sync(self._folder)
        self._steps = sorted([*self._steps, step])[-self._keep :]
        for other in manifest.committed_steps(self._folder):
            if other not in self._steps:
                _remove(self._folder / str(other))

    def _cannot_write(self, step: int, error: Exception) -> CheckpointError:
        # what there is of it would take room that a full disk does not have
        shutil.rmtree(self._folder / f"{_UNFINISHED}{step}", ignore_errors=True)
        kept = f"that of step {max(self._steps)} is intact" if self._steps else "there is none yet"
        return CheckpointError(
            f"{self._folder}: cannot write the checkpoint of step {step} "
            f"({_first_line(error)}); {kept}"
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


def _first_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error)
    for reason in ("No space left on device", "File too large", "Read-only file system"):
        if reason in text:  # somewhere in what the storage library says
            return reason
    return (text.splitlines() or [type(error).__name__])[0][:80]
