"""The folder of all checkpoints: which steps are in it, and who may change them."""

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

    It stays the same folder when it is moved: what is renamed or deleted is renamed or deleted in
    it, whatever has its name by then. Leftovers of a process that was killed are deleted.

    Args:
        folder: made if missing; may be a link to another disk.
        lock: of the workdir, checked before anything is changed.

    Attributes:
        path: the folder.
        own: the steps that this process found when it came, or wrote: no others are deleted.

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
        """Where a step may be written: a name no other process gives, and nobody else's to lose."""
        return self.path / f"{_UNFINISHED}{step}-{secrets.token_hex(4)}"

    def publish(self, unfinished: pathlib.Path, step: int) -> None:
        """Give a written folder the name of its step, which is then on disk.

        Raises:
            WorkdirBusyError: see ``check``.
            OSError: it cannot be, or has that name by somebody else.
        """
        self.check()
        if step in self.own:
            self.remove(step)  # it was found damaged
        os.rename(unfinished.name, str(step), src_dir_fd=self._open, dst_dir_fd=self._open)
        os.fsync(self._open)
        self.own.add(step)

    def remove(self, step: int) -> None:
        """Rename, then delete, so that killed halfway none is left with a step's name."""
        discarded = f"{_DISCARDED}{step}"
        delete(discarded, self._open)
        with contextlib.suppress(FileNotFoundError):
            os.rename(str(step), discarded, src_dir_fd=self._open, dst_dir_fd=self._open)
        delete(discarded, self._open)
        self.own.discard(step)

    def abandon(self, unfinished: pathlib.Path) -> None:
        """Delete what could not be finished: it takes room that a full disk does not have."""
        delete(unfinished.name, self._open)
        shutil.rmtree(unfinished, ignore_errors=True)  # where a library has made its path anew

    def check(self) -> None:
        """Raise if what the folder's path leads to is no longer this process's.

        Raises:
            WorkdirBusyError: the folder or its workdir was moved or replaced, or its lock was.
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
        """Let others change the folder."""
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
