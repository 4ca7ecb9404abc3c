"""A folder in which one process at a time writes, for as long as its lock is the one found there.

The operating system locks a file, whatever it is called; files are written by name. So a process
whose folder was moved, or whose lock was deleted, holds its lock on, while another holds a new one
in the folder of the old name. ``Lock.check`` tells the first that it must write there no more.
"""

import dataclasses
import fcntl
import os
import pathlib
import socket

from el_jax.runtime.errors import WorkdirBusyError
from el_jax.runtime.files import open_own

LOCK = "lock"  # name of the file


@dataclasses.dataclass(frozen=True)
class Lock:
    """The lock of a folder, held by this process.

    Attributes:
        folder: the folder, by its whole path.
        descriptor: of the locked file.
    """

    folder: pathlib.Path
    descriptor: int

    def check(self) -> None:
        """Raise if the folder of that name is no longer the one that is locked.

        Raises:
            WorkdirBusyError: the folder was moved or replaced, or the lock was.
        """
        if not self.is_found():
            raise WorkdirBusyError(
                f"--workdir={self.folder} is no longer this process's (it was moved, replaced or "
                "its lock deleted); nothing more is written"
            )

    def is_found(self) -> bool:
        """Whether the file of that name is the one that is locked."""
        try:
            found = os.stat(self.folder / LOCK, follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(found, os.fstat(self.descriptor))

    def release(self) -> None:
        """Let others in."""
        os.close(self.descriptor)


def acquire(folder: pathlib.Path) -> Lock:
    """Lock a folder, which exists.

    Raises:
        WorkdirBusyError: another process holds it; the message says which.
        OSError: the lock cannot be written, or is a link.
    """
    folder = folder.absolute()
    while True:
        lock = Lock(folder, open_own(folder / LOCK))
        try:
            fcntl.flock(lock.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(lock.descriptor, 200, 0).decode(errors="replace").strip()
            lock.release()
            raise WorkdirBusyError(
                f"--workdir={folder} is in use by {holder or 'another process'}"
            ) from error
        if lock.is_found():
            os.ftruncate(lock.descriptor, 0)
            os.write(lock.descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            return lock
        lock.release()  # deleted before it was locked
