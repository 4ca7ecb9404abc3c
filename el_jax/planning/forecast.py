"""Memory, messages and time of a training on a machine, from matrix products and compiler."""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax

from el_jax.config.training import Settings
from el_jax.planning.machines import Machine
from el_jax.planning.products import Products
from el_jax.planning.programs import Shapes
from el_jax.training.memory import USABLE, fewer_at_once, least_bytes, num_bytes
from el_jax.training.program import block_windows

UTILISATION = 0.35  # share of peak that well-tuned transformer training reaches


@dataclasses.dataclass(frozen=True)
class Interval:
    """A range of times in seconds, from the ideal to that at ``UTILISATION`` of the peaks."""

    ideal: float
    likely: float

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.ideal + other.ideal, self.likely + other.likely)

    def times(self, factor: int | float) -> "Interval":
        """The interval scaled by ``factor``."""
        return Interval(self.ideal * factor, self.likely * factor)


@dataclasses.dataclass(frozen=True)
class Memory:
    """Memory of one device during an update, bytes.

    Attributes:
        available: memory of the device.
        parts: bytes by name, from the compiler or else the least that the shapes need. Infinite if
            the compiler refuses the program without giving a number.
        kept: bytes of the state and the data sets, which do not depend on ``runs_at_once``.
        runs: number of runs that the device trains.
        runs_at_once: number of runs that it computes at once.
    """

    available: float
    parts: Mapping[str, int | float]
    kept: float
    runs: int
    runs_at_once: int

    @property
    def needed(self) -> int | float:
        """Bytes in all."""
        return sum(self.parts.values())

    @property
    def fits(self) -> bool:
        """True if the device has room for it."""
        return self.needed <= USABLE * self.available

    @property
    def room_for_runs(self) -> int:
        """Approximate number of runs that the device could train so."""
        return int(USABLE * self.available / (self.needed / self.runs))

    @property
    def fewer_at_once(self) -> int:
        """The ``train.max_runs_at_once`` to set where it does not fit; 0 if there is none."""
        beside, free = self.needed - self.kept, self.available - self.kept
        if self.fits or beside <= 0 or free <= 0:
            return 0
        return fewer_at_once(self.runs_at_once, beside, free)


@dataclasses.dataclass(frozen=True)
class Forecast:
    """The cost of a training on a machine; operations and bytes are for one update of all runs.

    Attributes:
        machine: its name.
        layout: distribution of runs or windows over its devices.
        runs: number of runs.
        parameters: number of parameters of one run.
        tokens: tokens that one run reads in an update.
        operations_by_arithmetic: operations of all matrix products, by formula.
        bytes_moved: by formula: operands and results of products, gradients, state.
        memory: memory of one device.
        messages: kind, bytes per device and number per update of each message between devices;
            None if nothing was compiled.
        update: time of one update of all runs.
        by: origin of the ideal time: "compiler" or "roofline".
        training: time of all updates and evaluations.
        num_updates: length of the training.
        num_devices: number of devices of the machine.
        not_compiled: why no compiler was used; empty if one was.
    """

    machine: str
    layout: str
    runs: int
    parameters: int
    tokens: int
    operations_by_arithmetic: Mapping[str, float]
    bytes_moved: float
    memory: Memory
    messages: tuple[tuple[str, int, float], ...] | None
    update: Interval
    by: str
    training: Interval
    num_updates: int
    num_devices: int
    not_compiled: str = ""

    @property
    def operations(self) -> float:
        """Operations of all matrix products."""
        return sum(self.operations_by_arithmetic.values())

    @property
    def device_hours(self) -> Interval:
        """Time of the training on every device of the machine, hours."""
        return self.training.times(self.num_devices / 3600)

    @property
    def intensity(self) -> float:
        """Operations per byte moved."""
        return self.operations / self.bytes_moved


def forecast(
    settings: Settings,
    shapes: Shapes,
    machine: Machine,
    update: Products,
    block: Products,
    compiled: Mapping[str, Any] | None,
    not_compiled: str = "",
) -> Forecast:
    """Combine the parts into a forecast.

    Args:
        settings: the training's settings, parsed for the machine.
        shapes: its shapes.
        machine: the machine.
        update: products of one update of all runs.
        block: products of one evaluated block of all runs.
        compiled: see ``compile_worker.compile_updates``; None if there was no compiler.
        not_compiled: the reason, if there was none.
    """
    layout, share = shapes.spec.layout, 1 / shapes.spec.layout.num_devices
    # gradients and the state, each written once and read once
    kept = 2 * num_bytes(shapes.state) + 2 * num_bytes(shapes.state.params)
    # a device with only some of the windows still has the whole state, but under fsdp
    here = update.num_bytes * share + kept * layout.share_of_state
    messages, sent = None, float(_expected_bytes(shapes))
    if compiled is not None:
        messages = tuple((kind, size, times) for kind, size, times in compiled["messages"])
        sent = sum((size * times for _, size, times in messages), 0.0)
    operations = {name: n * share for name, n in update.operations.items()}
    ideal = roofline(machine, operations, here, sent)
    cycles = compiled["cycles"] if compiled else 0.0
    by_compiler = cycles / machine.chip.clock if machine.chip.clock else 0.0
    one_update = Interval(by_compiler or ideal, max(ideal / UTILISATION, by_compiler))
    one_block = share * roofline(machine, block.operations, block.num_bytes, 0.0)
    evaluating = Interval(one_block, one_block / UTILISATION).times(_num_blocks(settings, shapes))
    num_updates = settings.train.num_updates
    return Forecast(
        machine=machine.name,
        layout=str(layout),
        runs=shapes.spec.hypers.num_runs,
        parameters=shapes.num_params,
        tokens=math.prod(shapes.batch.tokens.shape),
        operations_by_arithmetic=update.operations,
        bytes_moved=update.num_bytes + kept,
        memory=_memory_of(shapes, machine, compiled),
        messages=messages,
        update=one_update,
        by="compiler" if by_compiler else "roofline",
        training=one_update.times(num_updates) + evaluating,
        num_updates=num_updates,
        num_devices=machine.num_devices,
        not_compiled=not_compiled,
    )


def roofline(
    machine: Machine, operations: Mapping[str, float], num_bytes: int | float, sent: int | float
) -> float:
    """Lower bound in seconds on one device's time: the longest of computing, reading and sending.

    Args:
        machine: its peaks.
        operations: operations by arithmetic.
        num_bytes: bytes read and written.
        sent: bytes sent to other devices.
    """
    chip = machine.chip
    peaks = {"float32": chip.float32, "float32_highest": chip.float32_highest}
    computing = sum(ops / peaks.get(name, chip.bfloat16) for name, ops in operations.items())
    return max(computing, num_bytes / chip.bandwidth, sent / machine.link)


def _memory_of(shapes: Shapes, machine: Machine, compiled: Mapping[str, Any] | None) -> Memory:
    """The compiler's bytes; without a compiler the least."""
    spec, at_once = shapes.spec, shapes.spec.runs_at_once
    parts = least_bytes(spec.layout, shapes.state, shapes.data, at_once)
    kept = sum(parts.values()) - parts["gradients"]
    if compiled is not None:
        parts = compiled["parts"]
        kept = parts.get("arguments", compiled["state"])
    here = spec.layout.share(spec.hypers.num_runs)
    return Memory(machine.chip.memory, parts, kept, here, at_once)


def _expected_bytes(shapes: Shapes) -> int:
    """Bytes that a device sends in an update: gradients for their sum, or parameter shards."""
    layout = shapes.spec.layout
    size = num_bytes(shapes.state.params) // layout.runs
    if layout.data == 1:
        return 0
    # sharded: all-gather for the loss and for its gradient, and reduce-scatter; else all-reduce
    return (3 if layout.fsdp else 2) * size


def _num_blocks(settings: Settings, shapes: Shapes) -> int:
    """Number of blocks of windows evaluated during a training."""
    task, train = settings.task, settings.train
    windows = block_windows(shapes.batch, shapes.spec.eval_tokens, shapes.spec.layout)
    marks = range(train.log_every, train.num_updates + 1, train.log_every)
    often = sum(map(train.evaluates, marks))

    def blocks(examples: Callable[[], Any]) -> int:
        packed = jax.eval_shape(lambda: task.pack(examples()))
        return -(-packed.tokens.shape[0] // windows)

    total = often * blocks(task.train_set)
    for split, size in settings.evaluations.items():
        times = 1 if split in train.eval_last else often
        total += times * blocks(functools.partial(task.test_set, size))
    return total
