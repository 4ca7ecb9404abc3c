"""The folder of all checkpoints: its steps, and the one process that may change them."""

import contextlib
import fcntl
import os
import pathlib
import secrets
import shutil

from el_jax.checkpoints.manifest import committed_steps
from el_jax.runtime.errors import WorkdirBusyError
from el_jax.runtime.files import delete
from el_jax.runtime.lock import Lock

_UNFINISHED, _DISCARDED = "unfinished-", "discarded-"


class StepFolders:
    """A folder with one sub-folder per step, changed by one process at a time.

    The folder stays open: if it is moved, renames and deletions still happen in it, and never in
    another folder of the old name. Leftovers of a process that was killed are deleted.

    Args:
        folder: made if missing; may be a link to another disk.
        lock: of the workdir, checked before anything is changed.

    Attributes:
        path: the folder.
        own: the steps that this process found at its start, or wrote: no others are deleted.

    Raises:
        WorkdirBusyError: another process changes the folder.
    """

    def __init__(self, folder: pathlib.Path, lock: Lock | None) -> None:
        self.path, self._lock = folder.absolute(), lock
        self.path.mkdir(parents=True, exist_ok=True)
        self._open = _open_alone(self.path)
        self.own = set(committed_steps(self.path))
        for name in os.listdir(self._open):
            if name.startswith((_UNFINISHED, _DISCARDED)):
                delete(name, self._open)

    def of(self, step: int) -> pathlib.Path:
        """The folder of a step."""
        return self.path / str(step)

    def name_unfinished(self, step: int) -> pathlib.Path:
        """A path for a step that is being written, different from that of any other process."""
        return self.path / f"{_UNFINISHED}{step}-{secrets.token_hex(4)}"

    def publish(self, unfinished: pathlib.Path, step: int) -> None:
        """Rename a written folder to its step, and wait until the new name is on disk.

        Raises:
            WorkdirBusyError: see ``check``.
            OSError: the rename failed, or another process has made a folder of that name.
        """
        self.check()
        if step in self.own:
            self.remove(step)  # it was found damaged
        os.rename(unfinished.name, str(step), src_dir_fd=self._open, dst_dir_fd=self._open)
        os.fsync(self._open)
        self.own.add(step)

    def remove(self, step: int) -> None:
        """Rename, then delete: a crash never leaves a half-deleted checkpoint under its step."""
        discarded = f"{_DISCARDED}{step}"
        delete(discarded, self._open)
        with contextlib.suppress(FileNotFoundError):
            os.rename(str(step), discarded, src_dir_fd=self._open, dst_dir_fd=self._open)
        delete(discarded, self._open)
        self.own.discard(step)

    def abandon(self, unfinished: pathlib.Path) -> None:
        """Delete an unfinished folder: it takes room that a full disk does not have."""
        delete(unfinished.name, self._open)
        shutil.rmtree(unfinished, ignore_errors=True)  # a library may have made the path anew

    def check(self) -> None:
        """Raise if the folder's path no longer leads to the folder that this process holds.

        Raises:
            WorkdirBusyError: the folder, its workdir or the lock was moved, deleted or replaced.
        """
        if self._lock is not None:
            self._lock.check()
        try:
            same = os.path.samestat(os.stat(self.path), os.fstat(self._open))
        except OSError:
            same = False
        if not same:
            raise WorkdirBusyError(
                f"{self.path} was moved, deleted or replaced; nothing more is written there"
            )

    def close(self) -> None:
        """Close the folder, so that another process may change it."""
        os.close(self._open)


def _open_alone(folder: pathlib.Path) -> int:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise WorkdirBusyError(f"{folder} is in use by another process") from error
    except OSError:  # a file system that locks no folders: the workdir's lock stands alone
        pass
    return descriptor
