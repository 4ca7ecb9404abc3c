"""One update of a training against the same update in PyTorch."""

import dataclasses
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.bench.measurement import Measurement
from experiments.bench.paired import compare
from experiments.bench.pytorch_environment import NoPyTorchError, python_with_pytorch
from experiments.bench.worker import Worker, cores

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
        asked = "" if self.asked is None else f", {self.asked} asked in each"
        return f"{name} {self.num_layers}L/{self.width}, {self.windows}x{self.length} tokens{asked}"


class Pair(NamedTuple):
    """Two matching tasks, ours and PyTorch's, and the names of our time and of the other side."""

    ours: str
    theirs: str
    quantity: str
    other: str = "PyTorch"


class DisagreementError(RuntimeError):
    """The two sides do not compute the same."""


class Plan(NamedTuple):
    """Models and windows, and number of rounds."""

    cases: tuple[Case, ...]
    rounds: int


def _cases(copy_updates: int, language_updates: int, device: str = "cpu") -> tuple[Case, ...]:
    """The copy task's model with one supervised letter a window, and a small language model."""
    copy = Case("gpt_neox", 29, 32, 3, 2, 8, 55, 1, copy_updates, device=device)
    language = Case("gpt_neox", 65, 128, 4, 4, 12, 64, None, language_updates, device=device)
    return tuple(
        dataclasses.replace(case, preset=preset)
        for case in (copy, language)
        for preset in PRESET_NAMES
    )


PLANS = {
    "smoke": Plan(_cases(1, 1)[:1], 1),
    "cpu": Plan(_cases(10, 3), 9),
    "gpu": Plan(_cases(100, 100, "cuda"), 10),
}


def measure(plan: Plan) -> Iterator[Measurement]:
    """Ratios of times of an update, ours over PyTorch's, both on one core.

    Raises:
        DisagreementError: the two sides do not compute the same.
    """
    try:
        python = python_with_pytorch(cuda=plan.cases[0].device == "cuda")
    except NoPyTorchError as error:
        yield from (Measurement(str(case), not_measured=str(error)) for case in plan.cases)
        return
    for case in plan.cases:
        yield Measurement(str(case), _compare(case, plan.rounds, python))


def _pairs(case: Case) -> Iterator[Pair]:
    if case.asked is not None:
        yield Pair("asked", "asked", "update")
    yield Pair("all", "all", "update, all positions")
    yield Pair("plain", "all", "gradient and AdamW alone, all positions")
    if case.device == "cuda":
        yield Pair("all", "compiled", "update, all positions", "compiled PyTorch")


def _compare(case: Case, rounds: int, python: str) -> dict[str, np.ndarray]:
    """Time both sides in turns, on the same core."""
    values = {}
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
                    values[f"{pair.quantity} / {pair.other}"] = found.ratios
                    took = 1e3 * found.second_seconds / case.num_updates
                    values.setdefault(f"{pair.quantity}, ms", took)
    return values


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
