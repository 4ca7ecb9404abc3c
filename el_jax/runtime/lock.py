"""A lock that lets one process at a time write in a folder.

The operating system locks an open file, not its name; but a process writes files by name. So after
the folder is moved, or the lock file deleted, the first process still holds its lock, while a
second one can lock a new file under the old name. ``Lock.check`` then stops the first process.
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
        folder: absolute path of the folder.
        descriptor: of the locked file.
    """

    folder: pathlib.Path
    descriptor: int

    def check(self) -> None:
        """Raise if the lock file in the folder is no longer the locked file.

        Raises:
            WorkdirBusyError: the folder or its lock file was moved, deleted or replaced.
        """
        if not self.is_found():
            raise WorkdirBusyError(
                f"--workdir={self.folder} is no longer this process's (it was moved, replaced or "
                "its lock deleted); nothing more is written"
            )

    def is_found(self) -> bool:
        """True if the lock file in the folder is the locked file."""
        try:
            found = os.stat(self.folder / LOCK, follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(found, os.fstat(self.descriptor))

    def release(self) -> None:
        """Unlock the folder."""
        os.close(self.descriptor)


def acquire(folder: pathlib.Path) -> Lock:
    """Lock an existing folder.

    Raises:
        WorkdirBusyError: another process holds the lock; the message names it.
        OSError: the lock file cannot be written, or is a link.
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
        lock.release()  # another process replaced the file before it was locked here: try again
