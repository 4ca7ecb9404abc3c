"""GGUF files, llama.cpp's format: their fields, read by the gguf package behind a check of ours.

The package trusts every count: it loops over an array of 2⁴⁰ elements whose file has none of them,
and cuts a string that claims more bytes than are left. So the header is walked here first, and each
count is held against the bytes that the file has.
"""

import math
import mmap
import pathlib
import struct
from typing import Any

import gguf
from gguf import GGUFValueType as Kind

from el_jax.runtime.errors import PretrainedError

# bytes of a number
_SIZES = {
    Kind.UINT8: 1, Kind.INT8: 1, Kind.BOOL: 1, Kind.UINT16: 2, Kind.INT16: 2, Kind.UINT32: 4,
    Kind.INT32: 4, Kind.FLOAT32: 4, Kind.UINT64: 8, Kind.INT64: 8, Kind.FLOAT64: 8,
}  # fmt: skip
_LENGTH = 8  # bytes of the length before a string


def open_gguf(path: pathlib.Path) -> gguf.GGUFReader:
    """The reader of a file, whose header has been read.

    Raises:
        PretrainedError: it is no GGUF file, or a damaged one; a count that claims more bytes than
            the file has is refused before anything is allocated for it.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            _check_header(whole)
        return gguf.GGUFReader(path)
    except OSError as error:
        raise PretrainedError(f"{path}: {error.strerror or error}") from error
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise PretrainedError(f"{path}: no whole GGUF file ({error})") from error


def field_of(reader: gguf.GGUFReader, name: str) -> Any:
    """The value of a field; None if the file does not have it.

    Raises:
        PretrainedError: its text is no UTF-8.
    """
    field = reader.get_field(name)
    try:
        return None if field is None else field.contents()
    except UnicodeDecodeError as error:
        raise PretrainedError(f"{reader.data.filename}: {name}: no text ({error})") from error


class _Header:
    """A place in a file, which moves over bytes that the file has and no others."""

    def __init__(self, whole: mmap.mmap) -> None:
        self._whole, self._place, self._order = whole, 0, "<"
        if whole[:4] != b"GGUF":
            raise ValueError("it does not begin with the word GGUF")
        self.skip(4, "the first word")
        # a version below 2¹⁶ whose lower half is 0 was written with the other end first
        if self.number("I", "the version") & 0xFFFF == 0:
            self._order = ">"

    @property
    def left(self) -> int:
        """Bytes behind the place."""
        return len(self._whole) - self._place

    def need(self, size: int, name: str) -> None:
        """Raise ValueError if there are not ``size`` bytes left."""
        if size > self.left:
            raise ValueError(f"{name} claims {size} bytes, the file has {self.left} more")

    def skip(self, size: int, name: str) -> bytes:
        """Move over ``size`` bytes, which are returned."""
        self.need(size, name)
        start, self._place = self._place, self._place + size
        return self._whole[start : self._place]

    def number(self, form: str, name: str) -> int:
        """Move over a number, by its letter in ``struct``."""
        form = f"{self._order}{form}"
        found: int = struct.unpack(form, self.skip(struct.calcsize(form), name))[0]
        return found

    def string(self, name: str) -> str:
        """Move over a string, which is returned as it can be shown on one line."""
        return repr(self.skip(self.number("Q", name), name).decode("utf-8", "replace"))


def _check_header(whole: mmap.mmap) -> None:
    """Raise ValueError unless the file has all bytes that its header claims."""
    header = _Header(whole)
    num_tensors, num_fields = (header.number("Q", "the header") for _ in range(2))
    for i in range(num_fields):
        name = header.string(f"the name of field {i}")
        _skip_value(header, Kind(header.number("I", name)), name)
    ends = dict[str, int]()
    for i in range(num_tensors):
        name = header.string(f"the name of tensor {i}")
        num_sizes = header.number("I", name)
        header.need(8 * num_sizes, name)
        count = math.prod(header.number("Q", name) for _ in range(num_sizes))
        kind = gguf.GGMLQuantizationType(header.number("I", name))
        block, size = gguf.GGML_QUANT_SIZES[kind]
        ends[name] = header.number("Q", name) + count * size // block
    for name, end in ends.items():  # counted from the end of the header
        header.need(end, f"tensor {name}")


def _skip_value(header: _Header, kind: Kind, name: str) -> None:
    if kind == Kind.STRING:
        header.string(name)
    elif kind != Kind.ARRAY:
        header.skip(_SIZES[kind], name)
    else:
        kind = Kind(header.number("I", name))
        if kind == Kind.ARRAY:  # which llama.cpp does not read either
            raise ValueError(f"{name} is an array of arrays")
        count = header.number("Q", name)
        header.need(count * _SIZES.get(kind, _LENGTH), name)
        if kind == Kind.STRING:
            for _ in range(count):
                header.string(name)
        else:
            header.skip(count * _SIZES[kind], name)
