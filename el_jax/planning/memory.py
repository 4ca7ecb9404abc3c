"""Memory of one device while it updates, by the compiler or else by the shapes."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from el_jax.planning.compiled_text import bytes_needed
from el_jax.planning.machines import Machine
from el_jax.planning.programs import Shapes
from el_jax.training.devices.memory import USABLE, num_bytes
from el_jax.training.program import runs_of


@dataclasses.dataclass(frozen=True)
class Memory:
    """Memory of one device while it updates, bytes.

    Attributes:
        needed: bytes in all; by the compiler, or else the least that the shapes need. Infinite for
            a program that the compiler refuses without a number.
        available: of the device.
        runs: number of runs that the device trains.
        runs_at_once: number of runs that it computes at once.
        room_for_runs: about as many runs would fit at once.
        state_of_run: parameters and optimizer's numbers that the device keeps of each run.
        parts: bytes by name.
    """

    needed: int | float
    available: float
    runs: int
    runs_at_once: int
    room_for_runs: int
    state_of_run: float
    parts: Mapping[str, int | float]

    @property
    def fits(self) -> bool:
        """True if the device has room for it."""
        return self.needed <= USABLE * self.available

    @property
    def runs_that_fit(self) -> int:
        """The most runs for whose states there would be room; 0 if one run alone has none."""
        if not math.isfinite(self.needed):
            return 0
        missing = max(0.0, self.needed - USABLE * self.available)
        return max(0, self.runs - math.ceil(missing / self.state_of_run))


def memory_of(shapes: Shapes, machine: Machine, compiled: Mapping[str, Any] | None) -> Memory:
    """The memory of a training's updates on a device of a machine.

    Args:
        shapes: of the training.
        machine: the machine.
        compiled: the compiler's facts of the updates; None if there was no compiler.
    """
    if compiled is None:
        return _by_shapes(shapes, machine)
    available, here, state = machine.chip.memory, _runs_here(shapes), _state_of_run(shapes)
    needed, at_once = bytes_needed(compiled), compiled["at_once"]
    if "needed" in compiled:  # nothing else is known of a program that was refused
        parts, of_run = {}, max(state, needed / at_once)
    else:
        names = "arguments", "temporaries", "outputs", "aliased", "code"
        parts = {name: compiled[name] for name in names}
        of_run = max(state, compiled["of_all"] / here)
    room = int(USABLE * available // of_run)
    return Memory(needed, available, here, at_once, room, state, parts)


def _by_shapes(shapes: Shapes, machine: Machine) -> Memory:
    """The least memory: state, data, and gradients of as many runs at once as fit."""
    runs, available, here = runs_of(shapes.spec), machine.chip.memory, _runs_here(shapes)
    layout, state = shapes.spec.layout, _state_of_run(shapes)
    gradients = num_bytes(shapes.state.params) * layout.share_of_run / runs.num_runs
    others = state * here + num_bytes(shapes.data)
    at_once = runs.at_once or (1 if runs.axis == "map" else here)
    while not runs.at_once and at_once > 1 and others + at_once * gradients > USABLE * available:
        at_once = -(-at_once // 2)
    parts = {
        "state": state * here,
        "gradients": gradients * at_once,
        "data": num_bytes(shapes.data),
    }
    room = int(USABLE * available // (state + gradients))
    return Memory(sum(parts.values()), available, here, at_once, room, state, parts)


def _runs_here(shapes: Shapes) -> int:
    return shapes.spec.layout.share(shapes.spec.hypers.num_runs)


def _state_of_run(shapes: Shapes) -> float:
    kept = num_bytes(shapes.state) * shapes.spec.layout.share_of_state
    return kept / _runs_here(shapes)
