"""Turn functions of one run into functions of all runs, and check that they fit into memory."""

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

from el_jax.process.processes import smallest
from el_jax.training.layout import Layout, OnDevices
from el_jax.training.memory import check_room, free_bytes, planned_bytes

RunAxis = Literal["vmap", "map"]


def over_runs(
    function: Callable[..., Any], run_axis: RunAxis, num_runs: int, at_once: int | None = None
) -> Callable[..., Any]:
    """Compute ``function(run_args, shared_args)`` for all runs, the leading axis of ``run_args``.

    ``vmap`` computes all runs together, or ``at_once`` of them; this is fastest if one run does not
    fill the machine. ``map`` computes them one after another, and each is bit-equal to the same run
    trained alone. A single run is mapped, since a batch axis of 1 on every array only costs time.

    Args:
        function: a function of one run.
        run_axis: ``vmap`` or ``map``.
        num_runs: runs on a device.
        at_once: runs computed together under ``vmap``; None for all.
    """
    alone = run_axis == "map" or num_runs == 1
    if not alone and (at_once is None or at_once >= num_runs):
        return jax.vmap(function, in_axes=(0, None))
    together = None if alone else at_once
    return lambda run_args, shared: jax.lax.map(
        lambda args: function(args, shared), run_args, batch_size=together
    )


def free_everywhere(layout: Layout) -> int | None:
    """Free bytes on the fullest device of a layout; None if unknown.

    All processes get the same answer, and must call this function the same number of times.
    """
    here = [d for d in layout.devices if d.process_index == jax.process_index()]
    return smallest(free_bytes(here))


def within_memory(
    what: str, function: OnDevices, layout: Layout, at_once: int = 1
) -> Callable[..., Any]:
    """Check the memory of a function before its first call; tracing checks nothing.

    Args:
        what: its name in the message.
        function: the function.
        layout: distribution of runs or windows over devices.
        at_once: number of runs that a device computes at once, if fewer would take less memory.
    """
    checked: list[bool] = []

    def call(*args: Any) -> Any:
        # while a function is traced, for its shapes say, even a constant is a tracer
        if not checked and not isinstance(jnp.zeros(()), jax.core.Tracer):
            needed = planned_bytes(function.lower(*args))
            check_room({what: needed}, free_everywhere(layout), at_once)
            checked.append(True)
        return function.call(*args)

    return call
