"""Messages between devices and a TPU's cycles, in the text of a compiled program.

XLA's own cost analysis counts a loop's body once and ignores messages. Here every instruction
counts as often as its loops iterate.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{\s*$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (.*?) ([a-z][\w\-]*)\((.*)$")
_SHAPE = re.compile(r"\b(pred|bf16|f8\w*|[sufc]\d+)\[([\d,]*)\]")
_CALLED = re.compile(r"(?:body|to_apply|calls)=%?([\w.\-]+)|branch_computations=\{([^}]*)\}")
_CONDITION = re.compile(r"condition=%?([\w.\-]+)")
_TURNS = re.compile(r'known_trip_count"?:\{"n":"(\d+)"')
_CYCLES = re.compile(r'"estimated_cycles":"(\d+)"')
_COLLECTIVES = (
    *("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"),
    *("collective-broadcast", "ragged-all-to-all"),
)
_BYTES = {"pred": 1.0, "bf16": 2.0}


class Instruction(NamedTuple):
    """One instruction of a computation.

    Attributes:
        shape: text of its result's shape.
        opcode: its kind.
        rest: operands and attributes.
    """

    shape: str
    opcode: str
    rest: str


class Message(NamedTuple):
    """A group of identical messages between devices.

    Attributes:
        kind: such as "all-reduce".
        num_bytes: bytes of the result on one device.
        times: number of times it is sent.
    """

    kind: str
    num_bytes: int
    times: float


class CompiledText:
    """The text of a compiled program, ``jax.stages.Compiled.as_text()``.

    Args:
        text: the text.
    """

    def __init__(self, text: str) -> None:
        self._computations: dict[str, list[Instruction]] = {}
        entry = inside = ""
        for line in text.splitlines():
            if begun := _COMPUTATION.match(line):
                inside = begun[2]
                self._computations[inside] = []
                entry = inside if begun[1] else entry
            elif inside and (found := _INSTRUCTION.match(line)):
                self._computations[inside].append(Instruction(*found.groups()))
        self._executed = list(self._walk(entry, 1.0))

    def messages(self, num_updates: int = 1) -> list[Message]:
        """The messages of a call, or of one of its updates."""
        counts: Counter[tuple[str, int]] = Counter()
        for instruction, times in self._executed:
            kind = instruction.opcode.removesuffix("-start")
            if kind in _COLLECTIVES:
                counts[kind, _sent(instruction)] += times  # type: ignore[assignment]
        return [Message(kind, size, n / num_updates) for (kind, size), n in counts.items()]

    def cycles(self) -> float:
        """Cycles of a TPU's core by the compiler's own estimate; 0 on other machines."""
        found = ((_CYCLES.search(each.rest), times) for each, times in self._executed)
        return sum((int(cycles[1]) * times for cycles, times in found if cycles), 0.0)

    def _walk(self, name: str, times: float) -> Iterator[tuple[Instruction, float]]:
        """Every separately executed instruction, with the number of times it is executed."""
        for instruction in self._computations.get(name, ()):
            yield instruction, times
            if instruction.opcode == "while":
                turns = self._turns_of(instruction)
            elif instruction.opcode in ("call", "conditional", "async-start"):
                turns = 1
            else:  # a fusion or a reduction is one instruction
                continue
            for one, several in _CALLED.findall(instruction.rest):
                for called in [one] if one else re.findall(r"[\w.\-]+", several):
                    yield from self._walk(called, times * turns)

    def _turns_of(self, loop: Instruction) -> int:
        """Iterations of a loop: from its attributes, or the number it is compared with, or 1."""
        if known := _TURNS.search(loop.rest):
            return int(known[1])
        condition = _CONDITION.search(loop.rest)
        limits = [
            int(each.rest.partition(")")[0])
            for each in self._computations.get(condition[1] if condition else "", ())
            if each.opcode == "constant" and each.shape.startswith("s32[]")
        ]
        return max(limits, default=1)


def _sent(instruction: Instruction) -> int:
    """Bytes of the result.

    The start of an asynchronous message has the tuple (operands, results, a TPU's semaphores);
    that of an all-reduce has its results alone.
    """
    shapes = _SHAPE.findall(instruction.shape)
    if instruction.opcode.endswith("-start") and instruction.opcode != "all-reduce-start":
        arrays = [shape for shape in shapes if shape != ("u32", "")]
        shapes = arrays[len(arrays) // 2 :]
    size = 0.0
    for dtype, sides in shapes:
        width = _BYTES.get(dtype) or (1.0 if dtype.startswith("f8") else int(dtype[1:]) / 8)
        size += width * math.prod(int(side) for side in sides.split(",") if side)
    return int(size)
