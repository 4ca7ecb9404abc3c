"""Files that survive a power cut, and writes that follow no link."""

import errno
import os
import pathlib
import shutil
import stat


def open_own(path: pathlib.Path) -> int:
    """Open a file for reading and appending; made if missing.

    Returns:
        The file's descriptor.

    Raises:
        OSError: the file cannot be opened, is not a regular file, or is a symbolic or hard link,
            through which a write would reach another file.
    """
    # O_NONBLOCK: a named pipe in place of the file is refused below; without it, open would wait
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise _not_own(path) from error
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise _not_own(path)
    return descriptor


def _not_own(path: pathlib.Path) -> OSError:
    why = f"{path.name} is a link or no ordinary file, and is not written through; delete it"
    return OSError(errno.ELOOP, why, str(path))


def sync(path: pathlib.Path) -> None:
    """Wait until a file's content, or a folder's list of names, would survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_durably(path: pathlib.Path, text: str) -> None:
    """Write a file, whole or not at all, and wait until it is on disk.

    A link of that name is replaced, not followed.
    """
    temporary = path.with_name(path.name + ".tmp")
    temporary.unlink(missing_ok=True)  # left by a process that was killed
    try:
        with temporary.open("x") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)  # on a full disk it takes room that is needed
        raise
    sync(path.parent)


def delete(name: str, folder: int) -> None:
    """Delete a file, a link or a folder with its contents; a failure raises no error.

    Args:
        name: name of the file in the folder.
        folder: descriptor of the open folder, which stays valid if the folder is moved.
    """
    try:
        is_folder = stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        if is_folder:
            shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)
    except OSError:
        return


def to_nowhere(descriptor: int) -> None:
    """Redirect a file descriptor to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
