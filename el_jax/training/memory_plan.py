"""Lower bound on a training's memory, from shapes alone: nothing is compiled or allocated."""

from collections.abc import Mapping
from typing import Any

import jax

from el_jax.training.devices.memory import check_room, num_bytes
from el_jax.training.devices.runs import free_everywhere
from el_jax.training.objectives import Objective
from el_jax.training.program import Spec, block_windows, initial_state
from el_jax.types import Batch


def check_memory(spec: Spec, evaluations: Mapping[str, Batch]) -> None:
    """Raise unless the devices have room for the least that a training takes.

    The compiler adds activations and copies; these are checked when the functions are compiled.

    Args:
        spec: the parts of the program; they are only traced.
        evaluations: shapes of the batches to be measured.

    Raises:
        NotEnoughMemoryError: names the bytes needed and available on each device.
    """
    layout = spec.layout
    state = jax.eval_shape(initial_state(spec), spec.hypers)
    params = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), state.params
    )
    blocks = [
        _block_bytes(spec.objective, params, batch, block_windows(batch, spec.eval_tokens, layout))
        for batch in evaluations.values()
    ]
    devices = layout.num_devices if layout.splits_windows else 1
    # runs and blocks may be computed one after the other, so one of each is the least
    needed = {
        "parameters and optimizer state": num_bytes(state) * layout.share_of_state,
        "gradients of one run": num_bytes(params) * layout.share_of_run,
        "data sets": num_bytes(jax.eval_shape(spec.task.train_set)) + num_bytes(evaluations),
        "evaluation of one run": max(blocks) / devices,
    }
    check_room(needed, free_everywhere(layout))


def _block_bytes(objective: Objective, params: Any, batch: Batch, windows: int) -> int:
    """Bytes of a block of ``windows`` windows of a batch, and of the head's outputs for it."""
    block = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct((windows, *leaf.shape[1:]), leaf.dtype), batch
    )
    return num_bytes(block) + num_bytes(jax.eval_shape(objective.outputs, params, block))
