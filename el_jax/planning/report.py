"""A forecast as lines of text with units."""

import math
from collections.abc import Iterator

from el_jax.planning.forecast import UTILISATION, Forecast, Interval
from el_jax.planning.machines import Machine
from el_jax.training.devices.memory import USABLE

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIMES = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


def quantity(value: int | float, unit: str) -> str:
    """A number with three digits and a prefix: ``quantity(3.2e9, "B")`` is "3.2 GB".

    A unit that begins with a space is a word: ``quantity(2e6, " words")`` is "2 M words".
    """
    if not math.isfinite(value):
        return f"more {unit} than there is"
    for size, prefix in _PREFIXES:
        if abs(value) >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit.strip()}"


def duration(seconds: int | float) -> str:
    """A time in the largest unit of which it has one."""
    size, unit = next((each for each in _TIMES if seconds >= each[0]), _TIMES[-1])
    return f"{seconds / size:.3g} {unit}"


def spans(interval: Interval) -> str:
    """An interval of times."""
    return f"{duration(interval.ideal)} to {duration(interval.likely)}"


def hours(interval: Interval) -> str:
    """An interval of device-hours."""
    return f"{interval.ideal:.3g} to {interval.likely:.3g} device-hours"


def lines(title: str, plan: Forecast, machine: Machine) -> Iterator[str]:
    """The report of a training's plan.

    Args:
        title: the config.
        plan: the forecast.
        machine: the machine it was made for.
    """
    chip = machine.chip
    yield f"{title} on {machine.name}"
    peaks = f"{quantity(chip.bfloat16, 'op/s')} bfloat16, {quantity(chip.float32, 'op/s')} float32"
    memory = f"{quantity(chip.memory, 'B')} at {quantity(chip.bandwidth, 'B/s')}"
    rows = {
        "device": f"{peaks}; {memory}; {chip.source}",
        "layout": plan.layout,
        "runs": f"{plan.runs} of {quantity(plan.parameters, ' parameters')}; "
        f"{plan.tokens} tokens an update of each",
        "operations": _operations(plan),
        "bytes": f"{quantity(plan.bytes_moved, 'B')} an update; {plan.intensity:.3g} operations a "
        f"byte, where the device's peaks have {chip.bfloat16 / chip.bandwidth:.3g}",
        "memory": _memory(plan),
        "messages": _messages(plan),
        "an update": f"{spans(plan.update)} ({plan.by} to {UTILISATION:.0%} of peak)",
        "training": f"{plan.num_updates} updates and evaluations: {spans(plan.training)}, "
        f"{hours(plan.device_hours)}",
    }
    if plan.not_compiled:
        rows["not compiled"] = plan.not_compiled
    if plan.stand_in:
        rows["compiled"] = plan.stand_in
    for name, text in rows.items():
        yield f"  {name:<13}{text}"
    for text in advice(plan):
        yield f"  {'to fit':<13}{text}"


def _operations(plan: Forecast) -> str:
    text = f"{quantity(plan.operations, 'op')} an update in matrix products"
    apart = [f"{quantity(n, 'op')} {name}" for name, n in plan.operations_by_arithmetic.items()]
    text += f" ({', '.join(apart)})"
    if plan.compiler_operations:
        ratio = plan.compiler_operations / plan.operations - 1
        text += (
            f"; {quantity(plan.compiler_operations, 'op')} in all by the compiler ({ratio:+.1%})"
        )
    return text


def _memory(plan: Forecast) -> str:
    memory = plan.memory
    parts = ", ".join(f"{name} {quantity(size, 'B')}" for name, size in memory.parts.items())
    verdict = "fits" if memory.fits else "does not fit"
    bound = "at least " if plan.not_compiled else ""
    return (
        f"{verdict}: {bound}{quantity(memory.needed, 'B')} of {quantity(memory.available, 'B')} a "
        f"device{f' ({parts})' if parts else ''}; {memory.runs_at_once} runs at once, room for "
        f"about {memory.room_for_runs}"
    )


def _messages(plan: Forecast) -> str:
    if plan.messages is None:
        return "not known without the compiler"
    if not plan.messages:
        return "none between devices"
    return "; ".join(
        f"{kind} of {quantity(size, 'B')}, {times:.3g} times an update"
        for kind, size, times in plan.messages
    )


def advice(plan: Forecast) -> Iterator[str]:
    """Changes that make a training fit, each in a line; none if it fits."""
    memory = plan.memory
    if memory.fits:
        return
    if memory.room_for_runs >= 1 and plan.runs > 1:
        fewer = memory.room_for_runs * plan.devices
        yield f"--config.train.seeds: at most {fewer} runs in all (now {plan.runs})"
    if "float32" in plan.operations_by_arithmetic:
        yield "--config.model.dtype=bfloat16: activations take half of the bytes"
    yield "--config.loss.path=chunked: the logits of all classes are never in memory"
    if plan.devices < plan.num_devices:
        yield f"--config.train.shard=data: divide the windows over {plan.num_devices} devices"
    if plan.num_devices > 1 and not plan.layout.startswith("fsdp"):
        yield f"--config.train.shard=fsdp: a part of each parameter on {plan.num_devices} devices"
    yield "--config.model.remat_layers=True: activations of one layer at a time"
    yield f"a device with more than {quantity(memory.needed / USABLE, 'B')}"
