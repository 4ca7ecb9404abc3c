"""Agreement among the processes of one training, of which the first writes the files."""

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
    """The processes of one training were given different values."""


class ElsewhereError(UserError, RuntimeError):
    """Another process of the training met an error; this one ends with the same exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = code


def is_first() -> bool:
    """True on process 0, which reads and writes the files."""
    return jax.process_index() == 0


def agreed(stop: Callable[[], int | None]) -> Callable[[], int | None]:
    """``stop`` for all processes: a signal noted by any of them stops all at the same update.

    Every process must call the result the same number of times.
    """
    if jax.process_count() == 1:
        return stop

    def largest() -> int | None:
        noted = multihost_utils.process_allgather(np.int32(stop() or 0))
        return int(noted.max()) or None

    return largest


def smallest(num_bytes: int | None) -> int | None:
    """The smallest number on any process, rounded down to a mebibyte; None if none has a number."""
    if jax.process_count() == 1:
        return num_bytes
    unknown = np.iinfo(np.int32).max
    # jax sends integers of 32 bits, too few for bytes
    mebibytes = unknown if num_bytes is None else num_bytes >> 20
    least = int(multihost_utils.process_allgather(np.int32(mebibytes)).min())
    return None if least == unknown else least << 20


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Run a block on every process: it succeeds everywhere, or every process raises an error.

    Every process must enter it the same number of times, and must not wait for the others inside
    it: a process that failed never arrives.

    Raises:
        Exception: the first process that failed raises its own exception; all others raise an
            ``ElsewhereError`` with the same message.
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
    """Call ``action`` on the first process only, and return its result on every process.

    Args:
        action: returns None, numbers, strings and arrays, in lists and in dicts with strings as
            keys; arrays arrive bit for bit, tuples as lists.

    Raises:
        Exception: the exception of ``action``; an ``ElsewhereError`` on the other processes.
    """
    found: Any = None
    with together():
        if is_first():
            found = action()
    return found if jax.process_count() == 1 else _broadcast(found, source=0)


def check_same(name: str, value: Any) -> None:
    """Raise on every process unless each has the same value.

    Args:
        name: name of the value, for the message.
        value: of the types that ``from_first`` sends, without arrays.

    Raises:
        DifferentError: names the lowest process whose value differs from that of process 0.
    """
    if jax.process_count() == 1:
        return
    differs = _encode(value) != _encode(from_first(lambda: value))
    different = multihost_utils.process_allgather(np.int32(differs))
    if different.any():
        process = int(different.argmax())
        raise DifferentError(f"{name}: must be the same on all processes; not on process {process}")


def _encode(value: Any) -> bytes:
    """Encode a value as one line of JSON, then the bytes of all arrays one after the other."""
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
    """Decode the bytes that ``_encode`` made."""
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
    """Send ``value`` from the process ``source`` to every process."""
    sends = jax.process_index() == source
    content = np.frombuffer(_encode(value) if sends else b"", np.uint8)

    def send(block: np.ndarray) -> np.ndarray:
        return multihost_utils.broadcast_one_to_all(block, is_source=sends)

    whole, rest = map(int, send(np.array(divmod(len(content), _BLOCK_BYTES), np.int32)))
    if not sends:
        content = np.zeros(whole * _BLOCK_BYTES + rest, np.uint8)
    starts = range(0, len(content), _BLOCK_BYTES)
    # as bytes: jax broadcasts by a sum with zeros, in which -0.0 would lose its sign
    blocks = [send(content[start : start + _BLOCK_BYTES]) for start in starts]
    return value if sends else _decode(np.concatenate(blocks).tobytes())
