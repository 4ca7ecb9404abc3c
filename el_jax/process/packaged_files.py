"""Texts and vocabularies inside installed packages, read without importing them."""

import importlib.metadata
import pathlib

from el_jax.process.errors import MissingPackageError


def packaged_file(package: str, path: str, content: str, install: str) -> pathlib.Path:
    """A file or folder of an installed package.

    Args:
        package: its name.
        path: path of the file, as the package lists it.
        content: description of the content, for the message.
        install: a command, or a phrase that follows "install", for the message.

    Raises:
        MissingPackageError: the package is not installed, or has no such file.
    """
    try:
        file = pathlib.Path(str(importlib.metadata.distribution(package).locate_file(path)))
    except importlib.metadata.PackageNotFoundError:
        file = None
    if file is None or not file.exists():
        raise MissingPackageError(f"{content} comes with the package {package}: {install}")
    return file
