"""Machines that a training can be planned for, with the numbers of their makers.

Slices of TPUs are joined by the network of their hosts; the compiler for TPUs compiles for several
slices ahead of time, too. The machine "cpu" is the one at hand, and its numbers are measured.

Rates are dense, in operations a second with a multiplication and an addition as two; memory in
bytes of one device; bandwidths in bytes a second and in one direction, of one device.
"""

import dataclasses
import difflib
import math

from el_jax.planning.measured import this_cpu
from el_jax.runtime.errors import ConfigError

_TPU_DOCS = "https://cloud.google.com/tpu/docs"
_GPU_DOCS = "https://www.nvidia.com/en-us/data-center"


@dataclasses.dataclass(frozen=True)
class Card:
    """The numbers that XLA's GPU compiler asks of a card: https://docs.nvidia.com/cuda.

    Attributes:
        name: the card's own name.
        compute_capability: its number, such as "7.5".
        num_cores: streaming multiprocessors.
        clock: of a core, Hz.
        units_per_core: float32 units of a core.
        level2_cache: bytes.
        shared_memory: bytes of a core.
        threads: of a core at once.
    """

    name: str
    compute_capability: str
    num_cores: int
    clock: float
    units_per_core: int
    level2_cache: int
    shared_memory: int
    threads: int = 2048


@dataclasses.dataclass(frozen=True)
class Chip:
    """One device.

    Attributes:
        platform: "tpu", "gpu" or "cpu".
        bfloat16: peak of products in bfloat16, operations/s.
        float32: peak of products in float32 at default precision: bfloat16 on TPUs, TF32 on GPUs
            that have it.
        float32_highest: peak of products in float32 at the highest precision: six bfloat16 products
            on TPUs, no tensor cores on GPUs.
        memory: bytes.
        bandwidth: of the memory, bytes/s.
        link: to other devices of the same machine or slice, bytes/s.
        network: to devices of other hosts or slices, bytes/s.
        host_devices: largest number of devices in one host.
        source: page with these numbers, or how they were measured.
        topology: beginning of a TPU slice's name for the compiler; empty on v4, whose compiler
            takes half a chip for a device.
        clock: of a TPU's core, Hz: peak operations a second over operations a cycle.
        card: of a GPU.
    """

    platform: str
    bfloat16: float
    float32: float
    float32_highest: float
    memory: float
    bandwidth: float
    link: float
    network: float
    host_devices: int
    source: str
    topology: str = ""
    clock: float = 0.0
    card: Card | None = None


def _tpu(
    name: str, peak: float, clock: float, gib: int, gigabytes: int, link: int, network: float
) -> Chip:
    """A TPU's chip; GB/s for bandwidths."""
    return Chip(
        platform="tpu",
        bfloat16=peak,
        float32=peak,
        float32_highest=peak / 6,
        memory=gib * 2.0**30,
        bandwidth=gigabytes * 1e9,
        link=link * 1e9,
        network=network * 1e9,
        host_devices=8 if name in ("v5e", "v6e") else 4,
        source=f"{_TPU_DOCS}/{name}",
        topology="" if name == "v4" else name,
        clock=clock,
    )


_TURING = Card("Tesla T4", "7.5", 40, 1.59e9, 64, 4 * 2**20, 64 * 2**10, threads=1024)
_AMPERE = Card("NVIDIA A100-SXM4", "8.0", 108, 1.41e9, 64, 40 * 2**20, 164 * 2**10)
_HOPPER = Card("NVIDIA H100 80GB HBM3", "9.0", 132, 1.98e9, 128, 50 * 2**20, 228 * 2**10)
_BLACKWELL = Card("NVIDIA B200", "10.0", 148, 1.965e9, 128, 126 * 2**20, 228 * 2**10)
_T4 = Chip(  # eight of them in a host of AWS, g4dn.metal, on PCIe and a network of 100 Gb/s
    platform="gpu",
    bfloat16=8.1e12,  # its tensor cores have no bfloat16 and no TF32
    float32=8.1e12,
    float32_highest=8.1e12,
    memory=16e9,
    bandwidth=320e9,
    link=16e9,
    network=12.5e9 / 8,
    host_devices=8,
    source=f"{_GPU_DOCS}/tesla-t4",
    card=_TURING,
)
_A100 = Chip(
    platform="gpu",
    bfloat16=312e12,
    float32=156e12,
    float32_highest=19.5e12,
    memory=40e9,
    bandwidth=1.555e12,
    link=300e9,
    network=25e9,  # a DGX A100 has an adapter of 200 Gb/s for each card
    host_devices=8,
    source=f"{_GPU_DOCS}/a100",
    card=_AMPERE,
)
_H100 = Chip(
    platform="gpu",
    bfloat16=989e12,
    float32=494e12,
    float32_highest=67e12,
    memory=80e9,
    bandwidth=3.35e12,
    link=450e9,
    network=50e9,  # DGX H100 and B200 have one of 400 Gb/s for each card
    host_devices=8,
    source=f"{_GPU_DOCS}/h100",
    card=_HOPPER,
)
_B200 = Chip(
    platform="gpu",
    bfloat16=2.25e15,
    float32=1.125e15,
    float32_highest=75e12,
    memory=180e9,
    bandwidth=7.7e12,
    link=900e9,
    network=50e9,
    host_devices=8,
    source=f"{_GPU_DOCS}/dgx-b200",
    card=_BLACKWELL,
)
# Between slices: the pages of v5e and v6e have 6.4 and 25.6 Tb/s for 256 chips, and that of v5p has
# nothing: 6.25 GB/s a chip by https://jax-ml.github.io/scaling-book/tpus, taken for v4, too.
CHIPS: dict[str, Chip] = {
    "tpu-v4": _tpu("v4", 275e12, 1.05e9, 32, 1228, 300, 6.25),
    "tpu-v5e": _tpu("v5e", 197e12, 1.5e9, 16, 819, 200, 3.125),
    "tpu-v5p": _tpu("v5p", 459e12, 1.75e9, 95, 2765, 600, 6.25),
    "tpu-v6e": _tpu("v6e", 918e12, 1.75e9, 32, 1638, 400, 12.5),
    "t4": _T4,
    "a100-40": _A100,
    "a100-80": dataclasses.replace(_A100, memory=80e9, bandwidth=2.039e12),
    "h100": _H100,
    "h200": dataclasses.replace(_H100, memory=141e9, bandwidth=4.8e12, source=f"{_GPU_DOCS}/h200"),
    "b200": _B200,
}
_TPU_SIZES = (1, 4, 8, 16, 64, 256)
_TPU_SLICES = {"2x16": (2, 16), "2x256": (2, 256)}  # slices, chips of each
_GPU_SIZES = {"1": (1, 1), "8": (1, 8), "2x8": (2, 8)}  # hosts, cards of each


@dataclasses.dataclass(frozen=True)
class Machine:
    """Devices of one kind.

    Attributes:
        name: its name on the command line.
        chip: the numbers of a device.
        num_devices: number of devices.
        num_hosts: number of hosts, each of which runs a process.
        num_slices: number of slices of TPUs, 1 for other devices.
    """

    name: str
    chip: Chip
    num_devices: int
    num_hosts: int = 1
    num_slices: int = 1

    @property
    def link(self) -> float:
        """Bandwidth of a device to its neighbours, bytes/s: that of the slowest way.

        Cards of several hosts: sums and gathered arrays cross between hosts once for all cards of a
        host, which share them among their adapters. Between slices of TPUs: ``Chip.network``.
        """
        if self.chip.platform != "gpu" or self.num_hosts == 1:
            return self.chip.link
        return min(self.chip.link, self.chip.network * self.num_devices / self.num_hosts)

    @property
    def capability(self) -> str:
        """The compute capability of a GPU; empty for other devices."""
        return self.chip.card.compute_capability if self.chip.card else ""

    @property
    def compiles(self) -> bool:
        """True if there is a compiler whose devices are this machine's."""
        return bool(self.chip.topology or self.chip.card) or self.chip.platform == "cpu"

    @property
    def topology(self) -> str:
        """The compiler's name for these devices, of one slice; a TPU chip alone is one of four."""
        if self.chip.platform == "gpu":
            return f"{self.num_hosts}x{self.num_devices // self.num_hosts}x1"
        chips = max(self.num_devices // self.num_slices, 4)
        sides = _sides(chips, 2 if self.chip.host_devices == 8 else 3)
        return f"{self.chip.topology}:{'x'.join(map(str, sides))}"


def _sides(num_chips: int, dimensions: int) -> tuple[int, ...]:
    """Sides of a slice of a power of two of chips, as nearly equal as can be; even first."""
    exponent = int(math.log2(num_chips))
    if dimensions == 2:
        return 2 ** (exponent // 2), 2 ** (exponent - exponent // 2)
    first, rest = divmod(exponent, 3)
    if exponent == 2:
        return 2, 2, 1
    return 2**first, 2 ** (first + (rest > 1)), 2 ** (first + (rest > 0))


def _all() -> dict[str, Machine]:
    """Every machine elsewhere by name.

    v4 and v5p are lent by slices of four chips and more: of their size 1, one of four computes.
    """
    found: list[Machine] = []
    for kind, chip in CHIPS.items():
        if chip.platform == "tpu":
            for size in _TPU_SIZES:
                hosts = 1 if size <= chip.host_devices else size // 4
                found.append(Machine(f"{kind}-{size}", chip, size, hosts))
            for label, (slices, size) in _TPU_SLICES.items():
                chips = slices * size
                found.append(Machine(f"{kind}-{label}", chip, chips, chips // 4, slices))
        else:
            for label, (hosts, cards) in _GPU_SIZES.items():
                found.append(Machine(f"{kind}-{label}", chip, hosts * cards, hosts))
    return {machine.name: machine for machine in found}


MACHINES = _all()
HERE = "cpu"  # the machine at hand
NAMES = (HERE, *MACHINES)


def machine_of(name: str) -> Machine:
    """The machine of a name; the one at hand is measured first.

    Raises:
        ConfigError: there is none; lists the known ones and names the closest.
    """
    if name == HERE:
        return Machine(HERE, _this_one(), num_devices=1)
    if name in MACHINES:
        return MACHINES[name]
    close = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    sizes = ", ".join((*map(str, _TPU_SIZES), *_TPU_SLICES))
    raise ConfigError(
        f"--machine={name!r}: must be {HERE}, or KIND-SIZE: {', '.join(CHIPS)} with a size of "
        f"{sizes} (TPUs) or {', '.join(_GPU_SIZES)} (GPUs){hint}"
    )


def _this_one() -> Chip:
    """All cores of this CPU as one device, which has nobody to send to."""
    here = this_cpu()
    return Chip(
        platform="cpu",
        bfloat16=here.bfloat16,
        float32=here.float32,
        float32_highest=here.float32,
        memory=here.memory,
        bandwidth=here.bandwidth,
        link=here.bandwidth,
        network=here.bandwidth,
        host_devices=1,
        source="measured here: products of 1024 x 1024 matrices, a copy of 256 MB, free memory",
    )
