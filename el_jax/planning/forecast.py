"""Memory, messages and time of a training on a machine, from its products and its compiler."""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax

from el_jax.config.training import Settings
from el_jax.planning.advice import advice
from el_jax.planning.compiled_text import BETWEEN_SLICES
from el_jax.planning.machines import Machine
from el_jax.planning.memory import Memory, memory_of
from el_jax.planning.products import Products
from el_jax.planning.programs import Shapes
from el_jax.training.devices.memory import num_bytes
from el_jax.training.program import block_windows

UTILISATION = 0.35  # of peak: what well-made trainings of transformers reach


@dataclasses.dataclass(frozen=True)
class Interval:
    """A time from its ideal to that at ``UTILISATION`` of the peaks, seconds."""

    ideal: float
    likely: float

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.ideal + other.ideal, self.likely + other.likely)

    def times(self, factor: int | float) -> "Interval":
        """The interval ``factor`` times as long."""
        return Interval(self.ideal * factor, self.likely * factor)


@dataclasses.dataclass(frozen=True)
class Forecast:
    """The cost of a training on a machine; operations and bytes are of one update of all runs.

    Attributes:
        machine: its name.
        chip_source: page with the numbers of its devices.
        devices: number of devices that compute.
        layout: distribution of runs or windows over them.
        runs: number of runs.
        parameters: of one run.
        tokens: tokens that one run reads in an update.
        operations: of all matrix products, by formula.
        operations_by_arithmetic: the same, apart.
        compiler_operations: all operations by the compiler; None where it does not count them.
        bytes_moved: by formula: operands and results of products, gradients, state.
        memory: of one device.
        messages: kind, bytes on a device and number an update of each message between devices;
            None where nothing was compiled.
        host_transfers: exchanges with the host inside the updates.
        update: time of one update, of all runs.
        by: origin of the ideal time: "compiler" or "roofline".
        evaluations: time of all evaluations.
        training: time of all updates and evaluations.
        num_updates: of the training.
        num_devices: of the machine.
        not_compiled: reason for which no compiler was asked; empty if it was.
        stand_in: what was compiled in place of the training's own, and why; empty for its own.
        to_fit: changes that make it fit, each in a line; none if it fits.
    """

    machine: str
    chip_source: str
    devices: int
    layout: str
    runs: int
    parameters: int
    tokens: int
    operations: float
    operations_by_arithmetic: Mapping[str, float]
    compiler_operations: float | None
    bytes_moved: float
    memory: Memory
    messages: tuple[tuple[str, int, float], ...] | None
    host_transfers: int
    update: Interval
    by: str
    evaluations: Interval
    training: Interval
    num_updates: int
    num_devices: int
    not_compiled: str = ""
    stand_in: str = ""
    to_fit: tuple[str, ...] = ()

    @property
    def device_hours(self) -> Interval:
        """Time of the training on every device of the machine, hours."""
        return self.training.times(self.num_devices / 3600)

    @property
    def intensity(self) -> float:
        """Operations for each byte moved."""
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
    """Combine the parts.

    Args:
        settings: of the training, parsed for the machine.
        shapes: its shapes.
        machine: the machine.
        update: products of an update of all runs.
        block: products of an evaluated block of all runs.
        compiled: the compiler's facts of the updates; None if there was no compiler.
        not_compiled: the reason, if there was none.
    """
    layout, memory = settings.layout, memory_of(shapes, machine, compiled)
    moved, share = _bytes_moved(update, shapes), 1 / layout.num_devices
    # a device that has some of the windows still has all of the state
    here = moved * share if not layout.splits_windows else moved - update.num_bytes * (1 - share)
    messages = None if compiled is None else _messages(compiled)
    sent = messages if messages is not None else _expected_messages(shapes, settings, machine)
    operations = {name: n * share for name, n in update.operations.items()}
    ideal = roofline(machine, operations, here, *_bytes_sent(sent))
    cycles = (compiled or {}).get("cycles", 0.0)
    by_compiler = cycles / machine.chip.clock if machine.chip.clock else 0.0
    likely = max(ideal / UTILISATION, by_compiler)
    one_update = Interval(by_compiler or ideal, likely)
    one_block = share * roofline(machine, block.operations, block.num_bytes, 0.0)
    evaluating = Interval(one_block, one_block / UTILISATION).times(_num_blocks(settings, shapes))
    num_updates = settings.train.num_updates
    return Forecast(
        machine=machine.name,
        chip_source=machine.chip.source,
        devices=layout.num_devices,
        layout=str(layout),
        runs=shapes.spec.hypers.num_runs,
        parameters=shapes.num_params,
        tokens=math.prod(shapes.batch.tokens.shape),
        operations=update.total,
        operations_by_arithmetic=update.operations,
        compiler_operations=_compiler_operations(compiled, update, machine, layout.num_devices),
        bytes_moved=moved,
        memory=memory,
        messages=messages,
        host_transfers=len((compiled or {}).get("host_transfers", ())),
        update=one_update,
        by="compiler" if by_compiler else "roofline",
        evaluations=evaluating,
        training=one_update.times(num_updates) + evaluating,
        num_updates=num_updates,
        num_devices=machine.num_devices,
        not_compiled=not_compiled,
        stand_in=(compiled or {}).get("stand_in", ""),
        to_fit=tuple(advice(memory, settings, shapes, machine)),
    )


def roofline(
    machine: Machine,
    operations: Mapping[str, float],
    num_bytes: int | float,
    sent: int | float,
    between_slices: int | float = 0.0,
) -> float:
    """The least time of one device: the longest of computing, reading and sending, in seconds.

    Args:
        machine: its peaks.
        operations: by arithmetic.
        num_bytes: bytes read and written.
        sent: bytes sent to other devices.
        between_slices: bytes sent to other slices of TPUs, beside these.
    """
    chip = machine.chip
    peaks = {"float32": chip.float32, "float32_highest": chip.float32_highest}
    computing = sum(ops / peaks.get(name, chip.bfloat16) for name, ops in operations.items())
    reading, sending = num_bytes / chip.bandwidth, sent / machine.link
    return max(computing, reading, sending, between_slices / chip.network)


def _compiler_operations(
    compiled: Mapping[str, Any] | None, update: Products, machine: Machine, num_devices: int
) -> float | None:
    """Operations of an update of all runs by the compiler; None where it does not count them.

    On GPUs products are calls of cuBLAS, of which XLA counts no operation.
    """
    counted = (compiled or {}).get("operations")
    if counted is None or machine.chip.platform == "gpu":
        return None
    nested = update.total / update.once if update.once else 1.0  # it counts a loop's body once
    return counted * nested * num_devices


def _bytes_moved(update: Products, shapes: Shapes) -> float:
    """Bytes of the products, of gradients and of the state, each written once and read once."""
    return update.num_bytes + 2 * num_bytes(shapes.state) + 2 * num_bytes(shapes.state.params)


Messages = tuple[tuple[str, int, float], ...]  # kind, bytes, number an update


def _messages(compiled: Mapping[str, Any]) -> Messages:
    return tuple((kind, size, times) for kind, size, times, _ in compiled.get("messages", ()))


def _bytes_sent(messages: Messages) -> tuple[float, float]:
    """Bytes of an update to devices of the same slice, and to other slices."""
    inside = between = 0.0
    for kind, size, times in messages:
        if kind.endswith(BETWEEN_SLICES):
            between += size * times
        else:
            inside += size * times
    return inside, between


def _expected_messages(shapes: Shapes, settings: Settings, machine: Machine) -> Messages:
    """Messages of each device: gradients for their sum, and parts of parameters to be whole.

    Between slices every device sends its part of its slice's sum.
    """
    layout, size = settings.layout, num_bytes(shapes.state.params)
    if not layout.splits_windows:
        return ()
    between = (f"all-reduce{BETWEEN_SLICES}", size * machine.num_slices // machine.num_devices, 1.0)
    across = (between,) if machine.num_slices > 1 else ()
    if layout.shard == "fsdp":
        return (("all-gather", size, 2.0), ("reduce-scatter", size, 1.0), *across)
    return (("all-reduce", 2 * size, 1.0), *across)


def _num_blocks(settings: Settings, shapes: Shapes) -> int:
    """Blocks of windows that are evaluated during a training."""
    task, train = settings.task, settings.train
    windows = block_windows(shapes.batch, shapes.spec.eval_tokens, shapes.spec.layout)
    often = train.num_updates // train.eval_every

    def blocks(examples: Callable[[], Any]) -> int:
        packed = jax.eval_shape(lambda: task.pack(examples()))
        return -(-packed.tokens.shape[0] // windows)

    total = often * blocks(task.train_set)
    for split, size in settings.evaluations.items():
        times = 1 if split in train.eval_last else often
        total += times * blocks(functools.partial(task.test_set, size))
    return total
