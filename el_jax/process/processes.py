"""Agreement among the processes of one training; the first one reads and writes the files.

An error on one process ends it, and jax then ends the others within its heartbeat.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils

from el_jax.process.errors import ConfigError

T = TypeVar("T")


def is_first() -> bool:
    """True on process 0, which reads and writes the files."""
    return jax.process_index() == 0


def agreed(stop: Callable[[], int | None]) -> Callable[[], int | None]:
    """``stop`` for all processes: a signal to any of them stops all at the same update.

    Every process must call the result equally often.
    """
    if jax.process_count() == 1:
        return stop
    return lambda: int(multihost_utils.process_allgather(np.int32(stop() or 0)).max()) or None


def smallest(num_bytes: int | None) -> int | None:
    """The smallest number on any process, rounded down to a mebibyte; None if none has a number."""
    if jax.process_count() == 1:
        return num_bytes
    unknown = np.iinfo(np.int32).max  # jax sends integers of 32 bits, too few for bytes
    mebibytes = unknown if num_bytes is None else num_bytes >> 20
    least = int(multihost_utils.process_allgather(np.int32(mebibytes)).min())
    return None if least == unknown else least << 20


def check_same(name: str, value: Any) -> None:
    """Raise on every process unless all have the same value, which JSON can write.

    Raises:
        ConfigError: names the value.
    """
    if jax.process_count() == 1:
        return
    content = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
    sums = multihost_utils.process_allgather(np.frombuffer(content, np.uint8))
    if (sums != sums[0]).any():
        raise ConfigError(f"{name}: must be the same on all processes")


def from_first(tree: T | None, target: T) -> T | None:
    """The first process's tree of arrays on every process, in NumPy and bit for bit.

    Args:
        tree: on the first process, the tree or None; elsewhere ignored.
        target: shapes and types of its leaves.
    """
    if not multihost_utils.broadcast_one_to_all(np.int32(tree is not None)):
        return None
    leaves = jax.tree.leaves(tree) if is_first() else [None] * len(jax.tree.leaves(target))
    sent = []
    for leaf, shape in zip(leaves, jax.tree.leaves(target), strict=True):
        mine = np.zeros(shape.shape, shape.dtype) if leaf is None else np.asarray(leaf)
        # as bytes: jax broadcasts by a sum with zeros, in which -0.0 would lose its sign
        rows = np.frombuffer(mine.tobytes(), np.uint8)
        whole = np.asarray(multihost_utils.broadcast_one_to_all(rows))
        sent.append(np.frombuffer(whole.tobytes(), shape.dtype).reshape(shape.shape))
    return jax.tree.unflatten(jax.tree.structure(target), sent)
