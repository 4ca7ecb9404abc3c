"""User files, executed before the names in a config are looked up.

Such a file adds its own loss, task, model or optimizer to a dict of known ones:

    from el_jax.losses import TOKEN_LOSSES
    TOKEN_LOSSES["squared_hinge"] = squared_hinge
"""

import hashlib
import importlib
import importlib.util
import os
import pathlib
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from el_jax.process.errors import ConfigError, place_of


class ImportedFileError(ConfigError):
    """A user's file or module cannot be imported."""


def import_all(names: Iterable[str]) -> None:
    """Import files and modules, each once.

    Args:
        names: paths of Python files, and dotted names of installed modules.

    Raises:
        ImportedFileError: there is no such file or module, or it fails.
    """
    for name in names:
        if name.endswith(".py") and not pathlib.Path(name).is_file():
            raise ImportedFileError(
                f"--import={name!r}: there is no such file in {pathlib.Path.cwd()}"
            )
        try:
            if name.endswith(".py"):
                _execute(pathlib.Path(name))
            else:
                importlib.import_module(name)
        except (Exception, SystemExit) as error:  # the file may raise anything
            raise ImportedFileError(
                f"--import={name!r}: {type(error).__name__}: {error}"
                f"{place_of(error, str(pathlib.Path(name).resolve()))}"
            ) from error


def _execute(path: pathlib.Path) -> None:
    """Execute a file as its own module, unless it was executed before."""
    path = path.resolve()
    name = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # every name that ends in .py has one
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def fingerprints(names: Iterable[str]) -> str:
    """Files and folders with the first digits of their SHA-256 sums, for a training's record."""

    def sum_of(path: pathlib.Path) -> str:
        sha256 = hashlib.sha256()
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                with file.open("rb") as opened:  # in blocks: a text may be larger than memory
                    hashlib.file_digest(opened, lambda: sha256)
        return sha256.hexdigest()[:12]

    return ", ".join(f"{name} {sum_of(pathlib.Path(name))}" for name in names) or "none"


def files_in(section: Any) -> list[str]:
    """The values of a config's section, at any depth, that are files or folders."""
    if isinstance(section, Mapping):
        return [name for value in section.values() for name in files_in(value)]
    return [section] if isinstance(section, str) and os.path.exists(section) else []
