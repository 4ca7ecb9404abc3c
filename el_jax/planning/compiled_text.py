"""Facts in the text of a compiled program: messages between devices, cycles, products, callbacks.

XLA's own cost analysis counts a loop's body once and knows nothing of messages. Here every
instruction counts as often as its loops turn.
"""

import collections
import dataclasses
import functools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{\s*$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = (.*?) ([a-z][\w\-]*)\((.*)$")
_SHAPE = re.compile(r"\b(pred|bf16|f8\w*|[sufc]\d+)\[([\d,]*)\]")
_CALLED = re.compile(r"(?:body|to_apply|calls)=%?([\w.\-]+)|branch_computations=\{([^}]*)\}")
_OPERAND = re.compile(r"%([\w.\-]+)")
_CONDITION = re.compile(r"condition=%?([\w.\-]+)")
_TURNS = re.compile(r'known_trip_count"?:\{"n":"(\d+)"')
_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
_COLLECTIVES = (
    *("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"),
    *("collective-broadcast", "ragged-all-to-all"),
)
_HOST = ("infeed", "outfeed", "send", "recv", "send-done", "recv-done")
_CALLBACK = re.compile(r"callback|xla_ffi_python|HostExecute|MoveToHost", re.IGNORECASE)
_BETWEEN_SLICES = re.compile(r'_xla_megascale_transfer_type="(\w+)"')
_MEGASCALE = "xla_megascale_runtime"  # sends between slices of TPUs, through their hosts
BETWEEN_SLICES = " between slices"  # end of such a message's kind
_BYTES = {"pred": 1, "bf16": 2}


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One instruction of a computation.

    Attributes:
        name: its name.
        shape: text of its result's shape.
        opcode: its kind.
        rest: operands and attributes.
    """

    name: str
    shape: str
    opcode: str
    rest: str

    @property
    def num_bytes(self) -> int:
        """Bytes of the result; a tuple's are those of its parts."""
        return sum(size for _, size in arrays_of(self.shape))


@dataclasses.dataclass(frozen=True)
class Message:
    """A kind of message between devices.

    Attributes:
        kind: such as "all-reduce"; "all-reduce between slices" goes over the network of hosts.
        num_bytes: bytes of the result on one device.
        times: number of times a call of the program sends it.
        looped: True inside of a loop.
    """

    kind: str
    num_bytes: int
    times: float
    looped: bool


class Product(NamedTuple):
    """A matrix product in the text.

    Attributes:
        operand: type of its first operand, such as "bf16".
        result: type of its result.
        sides: of the result.
    """

    operand: str
    result: str
    sides: tuple[int, ...]


def bytes_needed(facts: Mapping[str, Any]) -> int | float:
    """Bytes that a compiled program takes on a device, its arguments included.

    Args:
        facts: see ``compile_worker.facts``.
    """
    if "needed" in facts:
        return facts["needed"]
    fresh = facts["outputs"] - facts["aliased"]
    return facts["arguments"] + facts["temporaries"] + fresh + facts["code"]


def arrays_of(text: str) -> Iterator[tuple[tuple[int, ...], int]]:
    """Sides and bytes of every array that a text names."""
    for dtype, sides in _SHAPE.findall(text):
        shape = tuple(int(side) for side in sides.split(",") if side)
        width = _BYTES.get(dtype) or (1 if dtype.startswith("f8") else int(dtype[1:]) / 8)
        yield shape, int(math.prod(shape) * width)


class CompiledText:
    """The text of a compiled program, ``jax.stages.Compiled.as_text()``.

    Args:
        text: the text.

    Attributes:
        computations: instructions by computation.
        entry: name of the computation that is called.
    """

    def __init__(self, text: str) -> None:
        self.computations: dict[str, list[Instruction]] = {}
        self.entry, inside = "", ""
        for line in text.splitlines():
            if begun := _COMPUTATION.match(line):
                inside = begun[2]
                self.computations[inside] = []
                self.entry = inside if begun[1] else self.entry
            elif inside and (found := _INSTRUCTION.match(line)):
                self.computations[inside].append(Instruction(*found.groups()))

    @functools.cached_property
    def executed(self) -> list[tuple[Instruction, float, bool]]:
        """Every instruction that is executed by itself, its number of times, and if in a loop."""
        return list(self._walk(self.entry, 1.0, looped=False))

    def _walk(
        self, name: str, times: float, *, looped: bool
    ) -> Iterator[tuple[Instruction, float, bool]]:
        for instruction in self.computations.get(name, ()):
            yield instruction, times, looped
            if instruction.opcode == "while":
                turns, inside = self._turns_of(instruction), True
            elif instruction.opcode in ("call", "conditional", "async-start"):
                turns, inside = 1, looped
            else:  # a fusion or a reduction is one instruction
                continue
            for one, several in _CALLED.findall(instruction.rest):
                for called in [one] if one else re.findall(r"[\w.\-]+", several):
                    yield from self._walk(called, times * turns, looped=inside)

    def _turns_of(self, loop: Instruction) -> int:
        """Turns of a loop: as its attributes say, or the number it is compared with, or 1."""
        if known := _TURNS.search(loop.rest):
            return int(known[1])
        condition = _CONDITION.search(loop.rest)
        limits = [
            int(each.rest.partition(")")[0])
            for each in self.computations.get(condition[1] if condition else "", ())
            if each.opcode == "constant" and each.shape.startswith("s32[]")
        ]
        return max(limits, default=1)

    def messages(self) -> list[Message]:
        """The messages between devices, alike ones together."""
        counts: dict[tuple[str, int, bool], float] = {}
        for instruction, times, looped in self.executed:
            if kind := _kind_of_message(instruction):
                key = kind, _sent(instruction), looped
                counts[key] = counts.get(key, 0.0) + times
        return [Message(kind, size, n, looped) for (kind, size, looped), n in counts.items()]

    def host_transfers(self) -> list[str]:
        """Instructions that exchange data with the host, or call it."""
        return [
            instruction.name
            for instruction, _, _ in self.executed
            if (instruction.opcode in _HOST and _MEGASCALE not in instruction.rest)
            or (instruction.opcode == "custom-call" and _CALLBACK.search(instruction.rest))
        ]

    def products(self) -> list[Product]:
        """Every matrix product in the text, inside of fusions too."""
        found = []
        for instructions in self.computations.values():
            by_name = {each.name: each.shape for each in instructions}
            for each in instructions:
                is_gemm = each.opcode == "custom-call" and "gemm" in each.rest
                if is_gemm or each.opcode in ("dot", "convolution"):
                    operand = _OPERAND.search(each.rest)
                    taken = _type_of(by_name.get(operand[1] if operand else "", ""))
                    sides, _ = next(arrays_of(each.shape))
                    found.append(Product(taken, _type_of(each.shape), sides))
        return found

    def exponential_types(self) -> dict[str, int]:
        """Number of exponentials in the text by the type of their result."""
        shapes = (
            each.shape
            for instructions in self.computations.values()
            for each in instructions
            if each.opcode == "exponential"
        )
        return dict(collections.Counter(map(_type_of, shapes)))

    def cycles(self) -> int | float:
        """Cycles of a TPU's core by the compiler's own estimate; 0 on other machines."""
        found = ((_CYCLES.search(each.rest), times) for each, times, _ in self.executed)
        return sum(int(cycles[1]) * times for cycles, times in found if cycles)

    def largest(self) -> Instruction:
        """The instruction with the largest single array as a result."""
        made = [
            each
            for each, _, _ in self.executed
            if each.opcode not in ("parameter", "tuple", "while", "get-tuple-element", "bitcast")
        ]
        return max(
            made, key=lambda each: max((size for _, size in arrays_of(each.shape)), default=0)
        )


def _type_of(shape: str) -> str:
    """The type of the first array in a shape."""
    found = _SHAPE.search(shape)
    return found[1] if found else "unknown"


def _kind_of_message(instruction: Instruction) -> str:
    """The kind of a message between devices; nothing for another instruction."""
    kind = instruction.opcode.removesuffix("-start")
    if kind in _COLLECTIVES:
        return kind
    between = _BETWEEN_SLICES.search(instruction.rest) if instruction.opcode == "send" else None
    return f"{between[1].lower().replace('_', '-')}{BETWEEN_SLICES}" if between else ""


def _sent(instruction: Instruction) -> int:
    """Bytes of the result; the start of an asynchronous message also names its operand."""
    if instruction.opcode == "send":  # what is sent, a number of the transfer, and its token
        return next(size for _, size in arrays_of(instruction.shape))
    if instruction.opcode.endswith("-start") and instruction.opcode != "all-reduce-start":
        return instruction.num_bytes // 2
    return instruction.num_bytes
