"""Errors that a user can fix, each with one line on standard error and an exit code.

Packages define their own subclasses of ``UserError``; this module has those that several packages
raise.
"""

import difflib
import traceback
from collections.abc import Iterable

USAGE, NOT_FINITE, NO_ROOM, BUSY = 2, 3, 4, 5


class UserError(Exception):
    """Ends a command with its message and ``exit_code``; a traceback would say nothing more."""

    exit_code: int = USAGE


class ConfigError(UserError, ValueError):
    """A command line or config cannot be run."""


class DataError(UserError, ValueError):
    """A task's text, tokenizer or file cannot be read; begins with ``field=value``."""


class PretrainedError(UserError, ValueError):
    """Files of a published model cannot be read, or no such files can hold a model."""


class MissingPackageError(UserError, FileNotFoundError):
    """A package's file or library is not installed; the message says how to install it."""


class NotEnoughMemoryError(UserError, RuntimeError):
    """A training does not fit into memory; the message names the bytes needed and available."""

    exit_code = NO_ROOM


class WorkdirBusyError(UserError, RuntimeError):
    """Another process trains in the workdir."""

    exit_code = BUSY


def exit_code(error: BaseException) -> int | None:
    """The exit code of an expected error; None for a bug in the program."""
    if isinstance(error, UserError):
        return error.exit_code
    return NO_ROOM if isinstance(error, OSError) else None


def describe(error: BaseException) -> str:
    """The message of an error; for an ``OSError``, with the name of its file."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def unknown_key(path: str, known: Iterable[str]) -> ConfigError:
    """The error for an unknown key, with the closest known one."""
    *parents, key = path.split(".")
    names = sorted(known)
    close = difflib.get_close_matches(key, names, n=1)
    close = close or [name for name in names if key in name.split("_")]  # lr for peak_lr
    hint = f"did you mean {close[0]!r}? " if close else ""
    where = f"config.{'.'.join(parents)}" if parents else "config"
    listed = f"{where} has {', '.join(names)}" if names else f"{where} has no keys"
    return ConfigError(f"config.{path}: unknown key; {hint}{listed}")


def require(field: str, value: object, valid: bool, allowed: str) -> None:
    """Raise unless the value of a field is valid.

    Args:
        field: name of the field.
        value: its value, shown in the message.
        valid: True if the value is allowed.
        allowed: a phrase that follows "must be".

    Raises:
        ValueError: unless ``valid``; the message starts with ``field=value``.
    """
    if not valid:
        raise ValueError(f"{field}={value!r}: must be {allowed}")


def place_of(error: BaseException, file: str) -> str:
    """The last line of a user's file that an error passed, for a message; empty if none."""
    frames = [at for at in traceback.extract_tb(error.__traceback__) if at.filename == file]
    return f" ({file}, line {frames[-1].lineno})" if frames else ""


def is_out_of_memory(error: BaseException) -> bool:
    """True if an error reports that memory ran out, in Python or on a device."""
    import jax  # not above: commands that only read files start without jax

    refused = isinstance(error, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" in str(error)
    return refused or isinstance(error, MemoryError)
