"""Memory checks: data, state, and the number of runs computed at once.

Linux promises a process more memory than the machine has, and a process that uses it then waits
for ever or is killed. So the bytes a training needs are compared with the free bytes before any
are allocated.
"""

import math
import pathlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from el_jax.runtime.compilation import release_freed_memory
from el_jax.runtime.errors import NotEnoughMemoryError, is_out_of_memory
from el_jax.training.devices.on_devices import OnDevices

USABLE = 0.9  # share of the free memory; the rest is lost between blocks
_ROOT = pathlib.Path("/")
# files of a control group, version 2 and 1: memory in use, its limit, and the cache in use
_GROUP_FILES = {
    "": ("memory.current", "memory.max", "inactive_file"),
    "memory": ("memory.usage_in_bytes", "memory.limit_in_bytes", "total_inactive_file"),
}


class Group(NamedTuple):
    """Number of runs computed at once, the function for so many, and the reason if not for all."""

    size: int
    function: OnDevices
    reason: str = ""


def fitting_group(
    what: str,
    make: Callable[[int], OnDevices],
    num_runs: int,
    free: int | None,
    needed: Callable[[OnDevices], int | float],
) -> Group:
    """The largest of R, R/2, R/4 ... runs at once whose program fits.

    Compiles one program per size tried. If all runs fit, that is one compilation, and the call
    reuses it.

    Args:
        what: name of the function, for the message.
        make: from a number of runs to the function that computes them at once.
        num_runs: R, runs of one device.
        free: free bytes on each device; None if unknown, and then all runs are taken.
        needed: bytes that a call allocates beside its arguments.

    Raises:
        NotEnoughMemoryError: not even one run fits.
    """
    size, function = num_runs, make(num_runs)
    # Without statistics to compare with nothing can be chosen: all runs are computed at once, and
    # the device's allocator raises if they do not fit.
    if free is None:
        return Group(size, function)
    usable = int(USABLE * free)
    of_all = found = needed(function)
    while found > usable and size > 1:
        size = -(-size // 2)
        function = make(size)
        found = needed(function)
    check_room({what: found}, free)
    if size == num_runs:
        return Group(size, function)
    told = f"{size} of {num_runs} runs at once: all need {_gigabytes(of_all)}"
    return Group(size, function, f"{told}, {_gigabytes(usable)} are free")


def _gigabytes(num_bytes: int | float) -> str:
    return f"{num_bytes / 1e9:.3g} GB" if math.isfinite(num_bytes) else "more than there is"


def num_bytes(tree: Any) -> int:
    """Bytes of all arrays of a tree, which may hold ``jax.ShapeDtypeStruct`` in their place."""
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def check_room(needed: Mapping[str, int | float], free: int | None) -> None:
    """Raise unless all parts fit at once.

    Args:
        needed: bytes on each device, by name of the part.
        free: free bytes on each device; None if unknown, and then nothing is checked.

    Raises:
        NotEnoughMemoryError: names the large parts and the available bytes.
    """
    total = sum(needed.values())
    if free is None or total <= free:
        return
    large = sorted((part for part in needed.items() if part[1] > total / 100), key=lambda p: -p[1])
    parts = ", ".join(f"{what} {_gigabytes(size)}" for what, size in large)
    raise NotEnoughMemoryError(
        f"memory: at least {_gigabytes(total)} needed ({parts}), {_gigabytes(free)} available; "
        "lower model.width, train.seeds, the sizes in eval or train.eval_tokens"
    )


def within_memory(
    what: str, function: OnDevices, free: Callable[[], int | None]
) -> Callable[..., Any]:
    """``function`` with a check of its memory before the first call; tracing it checks nothing.

    Args:
        what: name of the function, for the message.
        function: the check compiles it, and the call reuses that compilation.
        free: returns the free bytes on each device; called before the first call.
    """
    checked: list[bool] = []

    def call(*args: Any) -> Any:
        # while a function is traced, as for its shapes, even a constant is a tracer
        if not checked and not isinstance(jnp.zeros(()), jax.core.Tracer):
            check_room({what: planned_bytes(function, args)}, free())
            checked.append(True)
        return function(*args)

    return call


def planned_bytes(function: OnDevices, args: tuple[Any, ...]) -> int | float:
    """Bytes that a call allocates on each device beside its arguments, by the compiler's plan.

    Infinite if the compiler refuses the program for lack of memory; 0 if there is no plan.
    """
    try:
        plan = function.lower(*args).compile().memory_analysis()
    except jax.errors.JaxRuntimeError as error:  # a TPU's compiler refuses by itself
        if not is_out_of_memory(error):
            raise
        return math.inf
    release_freed_memory()
    if plan is None:
        return 0
    fresh = plan.output_size_in_bytes - plan.alias_size_in_bytes
    return plan.temp_size_in_bytes + fresh + plan.generated_code_size_in_bytes


def free_bytes(devices: Sequence[jax.Device]) -> int | None:
    """Free bytes on the fullest of this process's devices; None if the backend does not tell.

    On CPUs: the machine's available memory, divided by the number of devices.
    """
    if devices[0].platform == "cpu":
        available = _available_bytes(_ROOT)
        return None if available is None else available // len(devices)
    stats = [device.memory_stats() or {} for device in devices]
    free = [s["bytes_limit"] - s["bytes_in_use"] for s in stats if "bytes_limit" in s]
    return min(free, default=None)


def _available_bytes(root: pathlib.Path) -> int | None:
    """Bytes Linux would give this container or job without swapping; None on other systems."""
    meminfo = root / "proc/meminfo"
    text = meminfo.read_text() if meminfo.exists() else ""
    found = re.search(r"^MemAvailable: +(\d+) kB$", text, re.MULTILINE)
    return None if found is None else min([int(found[1]) * 1024, *_left_in_groups(root)])


def _left_in_groups(root: pathlib.Path) -> Iterator[int]:
    """Bytes left below the limit of each control group that this process is in.

    Docker and SLURM limit memory by such groups, and kill a process that takes more. A container
    may see its own group as the top one, whatever the group's path is outside.
    """
    listed = root / "proc/self/cgroup"
    for line in listed.read_text().splitlines() if listed.exists() else []:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        top = root / "sys/fs/cgroup" / controllers
        used, limit, cache = _GROUP_FILES[controllers]
        own = top / path.lstrip("/")
        for group in (own, *own.parents):  # the limit of every ancestor holds as well
            if group.is_relative_to(top) and (group / limit).exists():
                largest = (group / limit).read_text().strip()
                kept = re.search(rf"^{cache} (\d+)$", (group / "memory.stat").read_text(), re.M)
                taken = int((group / used).read_text()) - int(kept[1] if kept else 0)
                yield sys.maxsize if largest == "max" else int(largest) - taken
