"""What the processes of one training decide together, and who writes its files."""

import contextlib
import json
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils

from el_jax.runtime.errors import UserError, describe, exit_code

T = TypeVar("T")

_BLOCK_BYTES = 1 << 26  # sent at once: bounds the room it takes on the devices


class DifferentError(UserError, ValueError):
    """The processes of one training were not given the same."""


class ElsewhereError(UserError, RuntimeError):
    """Another process of the training met an error; this one ends as that one does."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = code


def is_first() -> bool:
    """Whether this process reads and writes the files."""
    return jax.process_index() == 0


def agreed(stop: Callable[[], int | None]) -> Callable[[], int | None]:
    """``stop`` for all processes: the signal that any of them has noted, at the same update.

    To be asked equally often by each.
    """
    if jax.process_count() == 1:
        return stop

    def largest() -> int | None:
        noted = multihost_utils.process_allgather(np.int32(stop() or 0))
        return int(noted.max()) or None

    return largest


def smallest(num_bytes: int | None) -> int | None:
    """The smallest of what the processes have, to a mebibyte; None if none of them can tell."""
    if jax.process_count() == 1:
        return num_bytes
    unknown = np.iinfo(np.int32).max
    mebibytes = unknown if num_bytes is None else num_bytes >> 20
    least = int(multihost_utils.process_allgather(np.int32(mebibytes)).min())
    return None if least == unknown else least << 20


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Run a block on every process: it succeeds everywhere, or every process raises an error.

    Every process must enter it the same number of times, and must not wait for the others inside
    it: a process that failed never arrives.

    Raises:
        Exception: on the first process that met one, that; on all others an ``ElsewhereError``
            that tells of it.
    """
    if jax.process_count() == 1:
        yield
        return
    met: Exception | None = None
    try:
        yield
    except Exception as error:
        met = error
    failed = multihost_utils.process_allgather(np.int32(met is not None))
    if failed.any():
        source = int(failed.argmax())
        told = _broadcast([exit_code(met) or 1, describe(met)] if met else [], source)
        if met is not None and jax.process_index() == source:
            raise met
        raise ElsewhereError(*told)


def from_first(action: Callable[[], T]) -> T:
    """What ``action`` gives on the first process, where alone it is called, on every process.

    Args:
        action: gives None, numbers, strings and arrays, in lists and in dicts with strings as
            keys; arrays arrive bit for bit, tuples as lists.

    Raises:
        Exception: what ``action`` raised; an ``ElsewhereError`` on the other processes.
    """
    found: Any = None
    with together():
        if is_first():
            found = action()
    return found if jax.process_count() == 1 else _broadcast(found, source=0)


def check_same(name: str, value: Any) -> None:
    """Raise on every process unless each has the same value.

    Args:
        name: what it is, for the message.
        value: as ``from_first`` takes it, without arrays.

    Raises:
        DifferentError: names the first process that has another one than the first.
    """
    if jax.process_count() == 1:
        return
    differs = _encode(value) != _encode(from_first(lambda: value))
    different = multihost_utils.process_allgather(np.int32(differs))
    if different.any():
        process = int(different.argmax())
        raise DifferentError(f"{name}: must be the same on all processes; not on process {process}")


def _encode(value: Any) -> bytes:
    """One line of JSON, then the bytes of all arrays one after the other."""
    contents: list[bytes] = []

    def tagged(node: Any) -> Any:
        if isinstance(node, dict):
            return {"dict": {name: tagged(child) for name, child in node.items()}}
        if isinstance(node, list | tuple):
            return {"list": [tagged(child) for child in node]}
        if isinstance(node, np.ndarray | np.generic):
            contents.append(node.tobytes())
            return {"array": [node.dtype.name, *node.shape]}
        return node

    header = json.dumps(tagged(value), sort_keys=True).encode()
    return b"\n".join([header, b"".join(contents)])


def _decode(content: bytes) -> Any:
    """The value that was encoded."""
    header, _, rest = content.partition(b"\n")
    position = 0

    def untagged(node: Any) -> Any:
        nonlocal position
        if not isinstance(node, dict):
            return node
        if "dict" in node:
            return {name: untagged(child) for name, child in node["dict"].items()}
        if "list" in node:
            return [untagged(child) for child in node["list"]]
        kind, *shape = node["array"]
        dtype = jnp.dtype(kind)  # which knows bfloat16
        size = math.prod(shape)
        array = np.frombuffer(rest, dtype, size, position).reshape(shape)
        position += size * dtype.itemsize
        return array.copy()  # aligned, and may be written to

    return untagged(json.loads(header))


def _broadcast(value: Any, source: int) -> Any:
    """``value`` of one process on every process."""
    sends = jax.process_index() == source
    content = np.frombuffer(_encode(value) if sends else b"", np.uint8)

    def send(block: np.ndarray) -> np.ndarray:
        return multihost_utils.broadcast_one_to_all(block, is_source=sends)

    whole, rest = map(int, send(np.array(divmod(len(content), _BLOCK_BYTES), np.int32)))
    if not sends:
        content = np.zeros(whole * _BLOCK_BYTES + rest, np.uint8)
    starts = range(0, len(content), _BLOCK_BYTES)
    # bytes, since a sum with zeros, which is how it is sent, would lose the sign of a zero
    blocks = [send(content[start : start + _BLOCK_BYTES]) for start in starts]
    return value if sends else _decode(np.concatenate(blocks).tobytes())
