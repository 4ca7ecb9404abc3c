"""Checkpoints of a training on several processes: the first of them reads and writes the files.

The files are the same as those of a training on one process, so a training may be resumed with any
number of processes.
"""

import functools
import pathlib
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from el_jax.checkpoints.arrays import S, State
from el_jax.checkpoints.steps import Placement, on_first_device
from el_jax.checkpoints.store import Checkpoints
from el_jax.runtime.lock import Lock
from el_jax.runtime.processes import from_first, is_first, together

Fetch = Callable[[Any], Any]


class SharedCheckpoints:
    """``Checkpoints`` for all processes at once; only the first needs to see the folder.

    Every process must call every method, in the same order. An error on the first process is raised
    on all processes.

    Args:
        open_first: opens the checkpoints; called on the first process.
        fetch: from an array on any devices to the whole array in NumPy.
        groups: see ``Checkpoints``; filled on every process.
    """

    def __init__(
        self, open_first: Callable[[], Checkpoints], fetch: Fetch, groups: dict[str, int]
    ) -> None:
        self._fetch, self._groups = fetch, groups
        self._first: Checkpoints | None = None
        with together():
            if is_first():
                self._first = open_first()

    @property
    def row_bytes(self) -> int:
        """See ``Checkpoints``; 0 except on the first process."""
        return 0 if self._first is None else self._first.row_bytes

    def prepare(self) -> None:
        """See ``Checkpoints``."""
        if self._first is not None:
            self._first.prepare()

    def save(self, state: State) -> None:
        """Start saving; returns when the first process has the arrays, before they are on disk.

        Raises:
            CheckpointError: this checkpoint, or the one before, cannot be written.
        """
        whole = jax.tree.map(self._fetch, state)  # one array at a time on the devices
        with together():
            if self._first is not None:
                self._first.save(whole)

    def wait(self) -> None:
        """Wait until the save in progress is on disk.

        Raises:
            CheckpointError: the checkpoint cannot be written.
        """
        with together():
            if self._first is not None:
                self._first.wait()

    def restore(self, init: Callable[[], S], place: Placement = on_first_device) -> S | None:
        """The newest intact state in NumPy, the same on every process; None if none was saved.

        Args:
            init: see ``Checkpoints``.
            place: unused: every process has the whole state, which a program places.

        Raises:
            CheckpointError: there are checkpoints, but none of them can be used.
        """
        del place
        target = jax.eval_shape(init)
        first = self._first

        def empty() -> S:
            return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), target)

        def read() -> list[np.ndarray] | None:
            state = None if first is None else first.restore(empty)
            return None if state is None else jax.tree.leaves(jax.device_get(state))

        leaves = from_first(read)
        self._groups.update(from_first(lambda: dict(self._groups)))
        return None if leaves is None else jax.tree.unflatten(jax.tree.structure(target), leaves)

    def __enter__(self) -> "SharedCheckpoints":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # not together(): an error may have come to this process alone
        if self._first is not None:
            self._first.__exit__(kind, error, trace)


def open_checkpoints(
    workdir: pathlib.Path,
    fetch: Fetch,
    config_sha256: str,
    *,
    keep: int,
    lock: Lock | None,
    origin: Mapping[str, str],
    groups: dict[str, int],
) -> Checkpoints | SharedCheckpoints:
    """Open the checkpoints of a workdir, together with its metrics.jsonl, on all processes.

    Args:
        workdir: the folder.
        fetch: from an array on any devices to the whole array in NumPy.
        config_sha256: see ``Checkpoints``.
        keep: see ``Checkpoints``.
        lock: of the workdir, on the first process.
        origin: see ``Checkpoints``.
        groups: see ``Checkpoints``.
    """
    open_first = functools.partial(
        Checkpoints,
        workdir / "checkpoints",
        keep,
        config_sha256=config_sha256,
        rows=workdir / "metrics.jsonl",
        lock=lock,
        origin=origin,
        groups=groups,
    )
    if jax.process_count() == 1:
        return open_first()
    return SharedCheckpoints(open_first, fetch, groups)
