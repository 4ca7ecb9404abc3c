"""Memory of a device: the bytes that a training needs, and the free bytes.

Linux promises a process more memory than the machine has; a process that uses it hangs or is
killed. So the bytes that a training needs are compared with the free bytes before any are
allocated.
"""

import math
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax

from el_jax.process.compilation import release_freed_memory
from el_jax.process.errors import NotEnoughMemoryError, is_out_of_memory
from el_jax.training.layout import Layout

USABLE = 0.9  # share of the free memory; the rest is lost between blocks
_ROOT = pathlib.Path("/")


def num_bytes(tree: Any) -> int:
    """Bytes of all arrays of a tree, any of which may be a ``jax.ShapeDtypeStruct``."""
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def least_bytes(layout: Layout, state: Any, data: Any, at_once: int = 1) -> dict[str, float]:
    """Lower bounds on an update's memory on each device, by part; activations come on top.

    Args:
        layout: distribution of the runs over devices.
        state: shapes of the state of all runs.
        data: shapes of the data sets, which every device holds.
        at_once: number of runs that a device computes at once.
    """
    num_runs = jax.tree.leaves(state.params)[0].shape[0]
    gradients = num_bytes(state.params) / num_runs * layout.share_of_run
    return {
        "parameters and optimizer state": num_bytes(state) * layout.share_of_state,
        "gradients": gradients * at_once,
        "data sets": num_bytes(data),
    }


def compiled_bytes(
    lowered: jax.stages.Lowered,
) -> tuple[dict[str, int | float], jax.stages.Compiled | None]:
    """Bytes of a program on each device by part, and the compiled program.

    The bytes are the compiler's plan and add up: results that reuse donated arguments do not
    count. If the compiler refuses the program for lack of memory, the only part is the number of
    bytes it asks for, infinite if it does not say.
    """
    try:
        compiled = lowered.compile()
    except jax.errors.JaxRuntimeError as error:  # a TPU's compiler refuses by itself
        if not is_out_of_memory(error):
            raise
        return {"refused by the compiler": _asked_for(str(error))}, None
    release_freed_memory()
    plan = compiled.memory_analysis()
    if plan is None:  # as on third-party platforms
        return {}, compiled
    parts = {
        "arguments": plan.argument_size_in_bytes,
        "results": plan.output_size_in_bytes - plan.alias_size_in_bytes,
        "temporaries": plan.temp_size_in_bytes,
        "code": plan.generated_code_size_in_bytes,
    }
    return parts, compiled


def planned_bytes(lowered: jax.stages.Lowered) -> int | float:
    """Bytes that a call allocates on each device besides its arguments, by the compiler's plan."""
    parts, _ = compiled_bytes(lowered)
    return sum(parts.values()) - parts.get("arguments", 0)


def _asked_for(message: str) -> float:
    used = re.search(r"(?:[Uu]sed |\()([\d.]+)([KMGT]?)i?B?(?: of|\) exceeds)", message)
    return float(used[1]) * 2.0 ** (10 * "KMGT".find(used[2] or " ") + 10) if used else math.inf


def fewer_at_once(at_once: int, needed: int | float, free: int | float) -> int:
    """Number of runs to compute at once where ``at_once`` of them do not fit; 0 if there is none.

    Args:
        at_once: number of runs on a device that do not fit.
        needed: bytes that these take besides the state of all runs and the data sets.
        free: bytes for them.
    """
    return min(at_once - 1, max(1, int(at_once * USABLE * free / needed)))


def check_room(needed: Mapping[str, int | float], free: int | None, at_once: int = 1) -> None:
    """Raise unless all parts fit at once.

    Args:
        needed: bytes on each device, by name of the part.
        free: free bytes on each device; None if unknown, and then nothing is checked.
        at_once: number of runs that take them at once, if fewer would take less.

    Raises:
        NotEnoughMemoryError: names the large parts, the available bytes, and what to change.
    """
    total = sum(needed.values())
    if free is None or total <= free:
        return
    large = sorted((part for part in needed.items() if part[1] > total / 100), key=lambda p: -p[1])
    parts = ", ".join(f"{what} {gigabytes(size)}" for what, size in large)
    fewer = fewer_at_once(at_once, total, free)
    groups = f"set --config.train.max_runs_at_once={fewer}, or " if fewer else ""
    raise NotEnoughMemoryError(
        f"memory: at least {gigabytes(total)} needed ({parts}), {gigabytes(free)} available; "
        f"{groups}lower model.width, train.seeds, the sizes in eval or train.eval_tokens"
    )


def gigabytes(size: int | float) -> str:
    """Bytes as text."""
    return f"{size / 1e9:.3g} GB" if math.isfinite(size) else "more than there is"


def free_bytes(devices: Sequence[jax.Device]) -> int | None:
    """Free bytes on the fullest of this process's devices; None if the backend does not say.

    On CPUs: the machine's available memory, divided by the number of devices.
    """
    if devices[0].platform == "cpu":
        meminfo = _ROOT / "proc/meminfo"
        text = meminfo.read_text() if meminfo.exists() else ""  # Linux only
        found = re.search(r"^MemAvailable: +(\d+) kB$", text, re.MULTILINE)
        if found is None:
            return None
        return min([int(found[1]) * 1024, *_left_in_groups()]) // len(devices)
    stats = [device.memory_stats() or {} for device in devices]
    free = [s["bytes_limit"] - s["bytes_in_use"] for s in stats if "bytes_limit" in s]
    return min(free, default=None)


def _left_in_groups() -> Iterator[int]:
    """Bytes left below the limit of each control group (version 2) of this process.

    Docker and SLURM limit memory by such groups and kill a process that exceeds it. A container may
    see its own group as the top one, whatever the group's path is outside.
    """
    listed, top = _ROOT / "proc/self/cgroup", _ROOT / "sys/fs/cgroup"
    text = listed.read_text() if listed.exists() else ""
    own = top / "".join(re.findall(r"^0::/(.*)$", text, re.MULTILINE))
    for group in (own, *own.parents):  # the limits of all ancestors apply as well
        if group.is_relative_to(top) and (group / "memory.max").exists():
            largest = (group / "memory.max").read_text().strip()
            cached = re.search(r"^inactive_file (\d+)$", (group / "memory.stat").read_text(), re.M)
            taken = int((group / "memory.current").read_text()) - int(cached[1] if cached else 0)
            yield sys.maxsize if largest == "max" else int(largest) - taken
