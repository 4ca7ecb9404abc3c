"""What the processes of one training decide together, and who writes its files."""

import contextlib
import pickle
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils

T = TypeVar("T")

_BLOCK_BYTES = 1 << 26  # sent at once: bounds the room it takes on the devices


class DifferentError(ValueError):
    """The processes of one training were not given the same."""


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
    """A block that all processes get through or none: an error of any is raised by each.

    To be entered equally often by each. Inside it they must not wait for one another, since who
    meets an error does not come.

    Raises:
        Exception: of several processes that met one, that of the first of them.
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
        raise _broadcast(_portable(met), source=int(failed.argmax()))


def from_first(action: Callable[[], T]) -> T:
    """What ``action`` gives on the first process, where alone it is called, on every process.

    Args:
        action: gives what can be pickled; arrays arrive bit for bit.

    Raises:
        Exception: what ``action`` raised, on every process.
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
        value: anything that can be pickled and compared.

    Raises:
        DifferentError: names the first process that has another one than the first.
    """
    expected = from_first(lambda: value)
    with together():
        if value != expected:
            raise DifferentError(
                f"{name}: must be the same on all processes; not on process {jax.process_index()}"
            )


def _portable(error: Exception | None) -> Exception | None:
    """The error, or its text where it cannot be sent."""
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:  # whatever a class of errors does on its way through pickle
        return RuntimeError(f"{type(error).__name__}: {error}")


def _broadcast(value: Any, source: int) -> Any:
    """``value`` of one process on every process."""
    sends = jax.process_index() == source
    content = np.frombuffer(pickle.dumps(value) if sends else b"", np.uint8)

    def send(block: np.ndarray) -> np.ndarray:
        return multihost_utils.broadcast_one_to_all(block, is_source=sends)

    whole, rest = map(int, send(np.array(divmod(len(content), _BLOCK_BYTES), np.int32)))
    if not sends:
        content = np.zeros(whole * _BLOCK_BYTES + rest, np.uint8)
    starts = range(0, len(content), _BLOCK_BYTES)
    # bytes, since a sum with zeros, which is how it is sent, would lose the sign of a zero
    blocks = [send(content[start : start + _BLOCK_BYTES]) for start in starts]
    return value if sends else pickle.loads(np.concatenate(blocks).tobytes())
