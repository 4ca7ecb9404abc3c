"""GGUF files, llama.cpp's format, read by the package gguf."""

import pathlib
from typing import Any

import gguf

from el_jax.process.errors import PretrainedError


def open_gguf(path: pathlib.Path) -> gguf.GGUFReader:
    """Open a file and read its header.

    Raises:
        PretrainedError: it is not a GGUF file, or an incomplete one.
    """
    try:
        return gguf.GGUFReader(path)
    except OSError as error:
        raise PretrainedError(f"{path}: {error.strerror or error}") from error
    except (ValueError, IndexError, KeyError) as error:
        raise PretrainedError(f"{path}: no whole GGUF file ({error})") from error


def field_of(reader: gguf.GGUFReader, name: str) -> Any:
    """The value of a field; None if the file does not have it."""
    field = reader.get_field(name)
    return None if field is None else field.contents()
