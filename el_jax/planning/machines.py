"""Machines that a training can be planned for, by the numbers in machines.toml."""

import dataclasses
import difflib
import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from el_jax.process.errors import ConfigError

_TABLE: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
_EVERY_CARD = _TABLE.pop("every-card")


@dataclasses.dataclass(frozen=True)
class Chip:
    """One device; units are in machines.toml.

    Attributes:
        platform: "tpu" or "gpu".
        source: page with these numbers.
        bfloat16: peak of products in bfloat16.
        float32: peak of products in float32 at default precision.
        float32_highest: peak of products in float32 at the highest precision.
        memory: bytes.
        bandwidth: bandwidth of the memory.
        link: bandwidth to other devices of the same host or slice.
        network: bandwidth to devices of other hosts; 0 within a slice of TPUs.
        host_devices: largest number of devices in one host.
        compiler: the compiler's name for it; empty if it has none.
        dimensions: dimensions of a slice of TPUs.
        clock: clock rate of a TPU's core, Hz.
        capability: compute capability of a GPU.
        card: numbers of a GPU by their names in XLA.
    """

    platform: str
    source: str
    bfloat16: float
    float32: float
    float32_highest: float
    memory: float
    bandwidth: float
    link: float
    host_devices: int
    network: float = 0.0
    compiler: str = ""
    dimensions: int = 2
    clock: float = 0.0
    capability: str = ""
    card: Mapping[str, int | float] = dataclasses.field(default_factory=dict)

    @property
    def card_text(self) -> str:
        """A GPU as XLA's compiler reads it: the text form of its GpuTargetConfigProto."""
        numbers = {
            **_EVERY_CARD,
            **self.card,
            "memory_bandwidth": int(self.bandwidth),
            "device_memory_size": int(self.memory),
        }
        fields = " ".join(f"{name}: {json.dumps(value)}" for name, value in numbers.items())
        major, _, minor = self.capability.partition(".")
        capability = f"cuda_compute_capability {{ major: {major} minor: {minor} }}"
        return (
            f'gpu_device_info {{ {fields} {capability} }} platform_name: "CUDA" '
            f"dnn_version_info {{ major: 9 minor: 10 }} "
            f'device_description_str: "{self.compiler}"'
        )


@dataclasses.dataclass(frozen=True)
class Machine:
    """Devices of one kind.

    Attributes:
        name: its name on the command line.
        chip: the numbers of one device.
        num_devices: number of devices.
        num_hosts: number of hosts, each of which runs one process.
    """

    name: str
    chip: Chip
    num_devices: int
    num_hosts: int = 1

    @property
    def link(self) -> float:
        """Bandwidth of a device to its neighbours over the slowest path, bytes/s.

        With cards in several hosts, sums and gathered arrays cross between hosts once for all cards
        of a host, which share the traffic among their adapters.
        """
        if self.chip.platform != "gpu" or self.num_hosts == 1:
            return self.chip.link
        return min(self.chip.link, self.chip.network * self.num_devices / self.num_hosts)

    @property
    def topology(self) -> str:
        """The compiler's name for these devices; a TPU chip alone is one of a slice of four."""
        if self.chip.platform == "gpu":
            return f"{self.num_hosts}x{self.num_devices // self.num_hosts}x1"
        sides = _sides(max(self.num_devices, 4), self.chip.dimensions)
        return f"{self.chip.compiler}:{'x'.join(map(str, sides))}"


def _sides(num_chips: int, dimensions: int) -> tuple[int, ...]:
    """Sides of a slice of 2^n chips, as nearly equal as possible; even sides first."""
    exponent = int(math.log2(num_chips))
    if dimensions == 2:
        return 2 ** (exponent // 2), 2 ** (exponent - exponent // 2)
    first, rest = divmod(exponent, 3)
    if exponent == 2:
        return 2, 2, 1
    return 2**first, 2 ** (first + (rest > 1)), 2 ** (first + (rest > 0))


def _machine(kind: str, size: str, chip: Chip) -> Machine:
    hosts, _, cards = size.rpartition("x")
    num = int(hosts or 1) * int(cards)
    if chip.platform == "tpu" and num > chip.host_devices:  # hosts of larger slices have four chips
        hosts = str(num // 4)
    return Machine(f"{kind}-{size}", chip, num, int(hosts or 1))


def _all() -> dict[str, Machine]:
    """Every machine by name.

    v4 and v5p come in slices of four or more chips; at size 1, one chip of four computes.
    """
    found = {}
    for kind, row in _TABLE.items():
        numbers = _TABLE.get(row.get("like", ""), {}) | row
        fields = {name: n for name, n in numbers.items() if name not in ("like", "sizes")}
        for size in numbers["sizes"]:
            machine = _machine(kind, size, Chip(**fields))
            found[machine.name] = machine
    return found


MACHINES = _all()


def machine_of(name: str) -> Machine:
    """The named machine.

    Raises:
        ConfigError: there is none; lists the known ones and names the closest.
    """
    if name in MACHINES:
        return MACHINES[name]
    close = difflib.get_close_matches(name, MACHINES, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ConfigError(f"--machine={name!r}: must be one of {', '.join(MACHINES)}{hint}")
