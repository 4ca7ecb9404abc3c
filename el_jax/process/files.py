"""Files that survive a power cut."""

import os
import pathlib


def sync(path: pathlib.Path) -> None:
    """Wait until a file's content, or a folder's list of names, is safe from a power cut."""
    if os.name == "nt" and path.is_dir():  # Windows opens no folders
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_durably(path: pathlib.Path, text: str) -> None:
    """Write a file, whole or not at all, and wait until it is on disk."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text(text)
        sync(temporary)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)  # on a full disk its room is needed
        raise
    sync(path.parent)


def to_nowhere(descriptor: int) -> None:
    """Redirect a file descriptor to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
