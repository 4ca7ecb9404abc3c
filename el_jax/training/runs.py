"""Turn functions of one run into functions of all runs, as many at once as fit into memory."""

import dataclasses
import logging
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

from el_jax.process.processes import is_first, smallest
from el_jax.training.layout import Layout, OnDevices
from el_jax.training.memory import (
    USABLE,
    check_room,
    free_bytes,
    gigabytes,
    halves,
    planned_bytes,
)

_LOG = logging.getLogger(__name__)

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


@dataclasses.dataclass(frozen=True)
class Runs:
    """The R runs of a training; compiles functions of them that fit into memory.

    Attributes:
        axis: see ``over_runs``.
        num_runs: R.
        at_once: number of runs that a device computes at once; 0 means as many as fit.
        layout: distribution of runs or windows over devices.
        groups: see ``Program``.
    """

    axis: RunAxis
    num_runs: int
    at_once: int
    layout: Layout
    groups: dict[str, int] = dataclasses.field(default_factory=dict)

    def fitting(self, what: str, make: Callable[[int], OnDevices]) -> Callable[..., Any]:
        """Compile ``make(n)`` for the largest n that fits into memory.

        The first call chooses n and reports it if it is smaller than the number of runs. A number
        in ``groups`` is tried first; a choice smaller than that is reported as well.
        """
        num_here = self.layout.share(self.num_runs)
        if self.at_once or self.axis == "map" or num_here == 1:
            return self.within_memory(what, make(self.at_once or 1))
        chosen: list[OnDevices] = []

        def call(*args: Any) -> Any:
            if not chosen:
                chosen.append(self._choose(what, make, num_here, args))
            return chosen[0].call(*args)

        return call

    def within_memory(self, what: str, function: OnDevices) -> Callable[..., Any]:
        """Check the memory of ``function`` before its first call; tracing checks nothing."""
        checked: list[bool] = []

        def call(*args: Any) -> Any:
            # while a function is traced, for its shapes say, even a constant is a tracer
            if not checked and not isinstance(jnp.zeros(()), jax.core.Tracer):
                needed = planned_bytes(function.lower(*args))
                check_room({what: needed}, free_everywhere(self.layout))
                checked.append(True)
            return function.call(*args)

        return call

    def _choose(
        self, what: str, make: Callable[[int], OnDevices], num_here: int, args: Any
    ) -> OnDevices:
        """The function for as many runs as fit; the call reuses the compilation that tried it."""
        before, free = self.groups.get(what), free_everywhere(self.layout)
        most = num_here if before is None else min(before, num_here)
        # Without memory statistics there is no basis for a choice: all runs are computed at once,
        # and the device's allocator raises if they do not fit.
        if free is None:
            self.groups[what] = most
            return make(most)
        needed: dict[int, int | float] = {}
        for size in halves(most):
            function = make(size)
            needed[size] = planned_bytes(function.lower(*args))
            if needed[size] <= USABLE * free:
                break
        check_room({what: needed[size]}, free)
        of_all, *_ = needed.values()
        self.groups[what] = size
        if size < most and is_first():
            told = f"{size} of {most} runs at once: all need {gigabytes(of_all)}"
            changed = "" if before is None else f"; {before} before: bits may differ from now on"
            usable = gigabytes(USABLE * free)
            _LOG.warning("%s: %s, %s are free%s", what, told, usable, changed)
        return function
