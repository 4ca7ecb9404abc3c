"""Checkpoints of a training: orbax for the arrays, the step for a name."""

import pathlib
from collections.abc import Callable
from types import TracebackType

import jax
from orbax.checkpoint import v1 as ocp

from el_jax.training.state import TrainState


class Checkpoints:
    """The checkpoints of one workdir; a context manager, since saving goes on in the background.

    Args:
        folder: where they lie, one sub-folder per step.
        keep: how many of the newest are kept.
    """

    def __init__(self, folder: pathlib.Path, keep: int = 2) -> None:
        self._checkpointer = ocp.training.Checkpointer(
            folder.absolute(),
            preservation_policy=ocp.training.preservation_policies.LatestN(keep),
            cleanup_tmp_directories=True,  # what a killed process left half written
        )

    def latest_step(self) -> int | None:
        """Step of the newest checkpoint, complete or being written by this process."""
        latest = self._checkpointer.latest
        return None if latest is None else int(latest.step)

    def save(self, state: TrainState) -> None:
        """Start saving; returns when the arrays are copied, before they are on disk.

        Waits for an earlier save that is not on disk yet.
        """
        step = int(state.step)
        if step != self.latest_step():
            # force: by default a save is skipped, silently, while the one before is being written
            self._checkpointer.save_checkpointables_async(
                step, {"state": state._asdict()}, force=True
            )

    def restore(self, init: Callable[[], TrainState]) -> TrainState:
        """The newest state, with the structure, shapes and types that ``init`` would give.

        Raises:
            FileNotFoundError: there is no complete checkpoint.
        """
        step = self.latest_step()
        if step is None:
            raise FileNotFoundError("there is no complete checkpoint to restore")
        abstract = jax.eval_shape(init)
        device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
        target = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=device), abstract
        )
        loaded = self._checkpointer.load_checkpointables(step, {"state": target._asdict()})
        return TrainState(**loaded["state"])

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._checkpointer.close()  # waits for what is still being written
