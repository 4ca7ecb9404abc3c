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
            lock(file.fileno())
        except (BlockingIOError, PermissionError) as error:  # flock, msvcrt: the lock is taken
            file.seek(0)
            holder = file.read(200).strip() or "another process"
            raise WorkdirBusyError(f"--workdir={folder} is in use by {holder}") from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield


def lock(descriptor: int, *, wait: bool = False) -> None:
    """Lock an open file until it is closed.

    Args:
        descriptor: the file's descriptor.
        wait: wait until no other process holds the lock (on Windows, for at most ten seconds).

    Raises:
        OSError: another process holds it: BlockingIOError, on Windows PermissionError.
    """
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
