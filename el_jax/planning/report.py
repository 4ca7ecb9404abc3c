"""A forecast as lines of text with units."""

from collections.abc import Iterator

from el_jax.planning.forecast import UTILISATION, Forecast, Interval
from el_jax.planning.machines import Machine
from el_jax.planning.units import digits, duration, quantity

LAUNCHES = 200e-6  # seconds: some dozens of kernels at a few microseconds each


def spans(interval: Interval) -> str:
    """An interval of times as text."""
    return f"{duration(interval.ideal)} to {duration(interval.likely)}"


def hours(interval: Interval) -> str:
    """An interval of device-hours as text."""
    return f"{digits(interval.ideal)} to {digits(interval.likely)} device-hours"


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
    apart = ", ".join(
        f"{quantity(n, 'op')} {name}" for name, n in plan.operations_by_arithmetic.items()
    )
    rows = {
        "device": f"{peaks}; {memory}; {chip.source}",
        "layout": plan.layout,
        "runs": f"{plan.runs} of {quantity(plan.parameters, ' parameters')}; "
        f"{plan.tokens} tokens an update of each",
        "operations": f"{quantity(plan.operations, 'op')} an update in matrix products ({apart})",
        "bytes": f"{quantity(plan.bytes_moved, 'B')} an update; {plan.intensity:.3g} operations a "
        f"byte, where the device's peaks have {chip.bfloat16 / chip.bandwidth:.3g}",
        "memory": _memory(plan),
        "messages": _messages(plan),
        "an update": f"{spans(plan.update)} ({plan.by} to {UTILISATION:.0%} of peak)",
        "training": f"{plan.num_updates} updates and evaluations: {spans(plan.training)}, "
        f"{hours(plan.device_hours)}",
    }
    if plan.update.likely < LAUNCHES:
        rows["too small"] = (
            f"starting an update's kernels alone takes some {duration(LAUNCHES)}: a roofline says "
            "nothing of a training this small"
        )
    if plan.not_compiled:
        rows["compiler"] = plan.not_compiled
    elif chip.platform == "gpu":
        rows["compiled"] = "with plain attention; cuDNN's, which is not here, takes less memory"
    for name, text in rows.items():
        yield f"  {name:<13}{text}"


def _memory(plan: Forecast) -> str:
    memory = plan.memory
    parts = ", ".join(f"{name} {quantity(size, 'B')}" for name, size in memory.parts.items())
    verdict = "fits" if memory.fits else "does not fit"
    bound = "at least " if plan.not_compiled else ""
    runs = f"{memory.runs_at_once} of {memory.runs} runs at once"
    fewer = memory.fewer_at_once
    change = f"; set --config.train.max_runs_at_once={fewer}" if fewer else ""
    return (
        f"{verdict}: {bound}{quantity(memory.needed, 'B')} of {quantity(memory.available, 'B')} a "
        f"device ({parts}); {runs}, room for about {memory.room_for_runs}{change}"
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
