"""A lock that lets one process at a time write in a folder."""

import contextlib
import os
import pathlib
import socket
import sys
from collections.abc import Iterator

from el_jax.process.errors import WorkdirBusyError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = "lock"  # name of the file


@contextlib.contextmanager
def locked(folder: pathlib.Path) -> Iterator[None]:
    """Keep every other process out of a folder; the system unlocks it when this process ends.

    Raises:
        WorkdirBusyError: another process holds the lock; the message names it.
        OSError: the lock file cannot be written.
    """
    with (folder / LOCK).open("a+") as file:
        try:
            _lock(file.fileno())
        except (BlockingIOError, PermissionError) as error:  # flock, msvcrt: the lock is taken
            file.seek(0)
            holder = file.read(200).strip() or "another process"
            raise WorkdirBusyError(f"--workdir={folder} is in use by {holder}") from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield


def _lock(descriptor: int) -> None:
    """Lock an open file until it is closed.

    Raises:
        OSError: another process holds it: BlockingIOError, on Windows PermissionError.
    """
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
