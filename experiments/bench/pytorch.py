"""One update of a training against the same update in PyTorch."""

import dataclasses
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.bench.paired import compare
from experiments.bench.pytorch_environment import NoPyTorchError, python_with_pytorch
from experiments.bench.rows import Goal, Row, at_most, estimated, exact, not_measured
from experiments.bench.scales import Scale
from experiments.bench.worker import Worker, cores

NAME = "pytorch"
GOAL = at_most(0.9)
AGREEMENT = {"cpu": 1e-4, "cuda": 1e-2}  # of logits and losses; the GPU multiplies in TF32
PRESET_NAMES = {"gpt_neox": "GPT-NeoX", "gpt2": "GPT-2"}


@dataclasses.dataclass(frozen=True)
class Case:
    """A model and its windows.

    Attributes:
        preset: "gpt_neox" or "gpt2".
        vocab_size: V.
        width: D.
        num_layers: N.
        num_heads: H.
        windows: B.
        length: T.
        asked: P, supervised positions of each window; None for all T.
        num_updates: updates in one timing.
        peak_lr: learning rate of AdamW, constant.
        device: PyTorch's device, "cpu" or "cuda".
    """

    preset: str
    vocab_size: int
    width: int
    num_layers: int
    num_heads: int
    windows: int
    length: int
    asked: int | None
    num_updates: int
    peak_lr: float = 1e-3
    device: str = "cpu"

    def __str__(self) -> str:
        name = PRESET_NAMES[self.preset]
        return f"{name} {self.num_layers}L/{self.width}, {self.windows}x{self.length} tokens"


class Pair(NamedTuple):
    """Two matching tasks, ours and PyTorch's, and the meaning of their ratio."""

    ours: str
    theirs: str
    quantity: str
    goal: Goal | None


class DisagreementError(RuntimeError):
    """The two sides do not compute the same."""


class _Plan(NamedTuple):
    cases: tuple[Case, ...]
    rounds: int


def _cases(copy_updates: int, language_updates: int) -> tuple[Case, ...]:
    """The copy task's model with one supervised letter a window, and a small language model."""
    copy = Case("gpt_neox", 29, 32, 3, 2, 8, 55, 1, copy_updates)
    language = Case("gpt_neox", 65, 128, 4, 4, 12, 64, None, language_updates)
    return tuple(
        dataclasses.replace(case, preset=preset)
        for case in (copy, language)
        for preset in PRESET_NAMES
    )


_PLANS: dict[Scale, _Plan] = {
    "smoke": _Plan(_cases(1, 1)[:1], 1),
    "cpu": _Plan(_cases(10, 3), 9),
    "gpu": _Plan(_cases(100, 100), 10),
}


def measure(scale: Scale) -> list[Row]:
    """Ratios of times of an update, ours over PyTorch's, both on one core.

    Raises:
        DisagreementError: the two sides do not compute the same.
    """
    plan, cuda = _PLANS[scale], scale == "gpu"
    try:
        python = python_with_pytorch(cuda=cuda)
    except NoPyTorchError as error:
        return [
            not_measured(NAME, str(case), pair.quantity, str(error), pair.goal)
            for case in plan.cases
            for pair in _pairs(case)
        ]
    device = "cuda" if cuda else "cpu"
    cases = [dataclasses.replace(case, device=device) for case in plan.cases]
    return [row for case in cases for row in _compare(case, plan.rounds, python)]


def _pairs(case: Case) -> Iterator[Pair]:
    if case.asked is not None:
        yield Pair("asked", "asked", "update / PyTorch", GOAL)
    yield Pair("all", "all", "update, all positions / PyTorch", GOAL)
    yield Pair("plain", "all", "gradient and AdamW alone, all positions / PyTorch", None)
    if case.device == "cuda":
        yield Pair("all", "compiled", "update, all positions / compiled PyTorch", None)


def _compare(case: Case, rounds: int, python: str) -> Iterator[Row]:
    """Time both sides in turns, on the same core."""
    core = cores()[0] if case.device == "cpu" and cores() else None
    with tempfile.TemporaryDirectory() as folder:
        asked = [folder, json.dumps(dataclasses.asdict(case))]
        with Worker("experiments.bench.pytorch_ours", asked, core) as ours:
            ours.ready()
            with Worker("experiments.bench.pytorch_theirs", asked, core, python) as theirs:
                theirs.ready()
                check_agreement(Path(folder), AGREEMENT[case.device])
                for pair in _pairs(case):
                    found = compare(theirs.timing(pair.theirs), ours.timing(pair.ours), rounds)
                    yield estimated(NAME, str(case), pair.quantity, found.ratio, pair.goal)
                    took = 1e3 * found.second_seconds / case.num_updates
                    quantity = pair.quantity.partition(" /")[0] + ", ms"
                    if pair.goal:
                        yield exact(NAME, str(case), quantity, took)


def check_agreement(folder: Path, allowed: float) -> None:
    """Check that both sides give the same logits, and the same loss after one update.

    Args:
        folder: the folder of ``ours.npz`` and ``theirs.npz``.
        allowed: largest absolute difference of any number.

    Raises:
        DisagreementError: names the array that differs, and the difference.
    """
    with np.load(folder / "ours.npz") as ours, np.load(folder / "theirs.npz") as theirs:
        for name in ours.files:
            difference = float(np.abs(ours[name] - theirs[name]).max())
            if not difference <= allowed:
                raise DisagreementError(f"{name} differs from PyTorch's by {difference:.2g}")
