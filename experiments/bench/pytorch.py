"""One update of a training against the same update in PyTorch.

python -m experiments.bench.pytorch --worker ours|theirs FOLDER JSON

Our worker writes into FOLDER the model and batches that the other side starts from, and both write
the logits and losses that must agree. Tasks are ``asked`` and ``all``, updates with those positions
supervised, and of ours ``plain``, gradient and AdamW alone with all of them. PyTorch's worker runs
in an environment of its own that has no JAX.
"""

import dataclasses
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.bench.paired import (
    Benchmark,
    DisagreementError,
    Measurement,
    Worker,
    compare,
    cores,
    serve,
)

AGREEMENT = 1e-4  # of logits and losses
PRESET_NAMES = {"gpt_neox": "GPT-NeoX", "gpt2": "GPT-2"}
PEAK_LR = 1e-3

# PyTorch without CUDA, 0.2 GB instead of 3 GB, where the configured index has it
TORCHES = ("torch==2.13.0+cpu", "torch")
OTHERS = (
    "transformers>=5",
    *("numpy", "scipy", "tqdm", "einops", "einconv", "linear_operator", "opt-einsum", "unfoldNd"),
)
# ask for torchvision, which nothing here uses; one built for another PyTorch breaks transformers
WITHOUT_NEEDS = ("PyHessian", "backpack-for-pytorch>=1.6", "curvlinops-for-pytorch>=3")
_CHECK = (
    "import torch, transformers, curvlinops, pyhessian; transformers.GPTNeoXForCausalLM; "
    "assert int(transformers.__version__.split('.')[0]) >= 5"
)


def python_with_pytorch(*, install: bool = True) -> str:
    """The interpreter to start PyTorch's side with: this one, or one that is installed once.

    Args:
        install: True if an environment may be made; otherwise only an existing one is used.

    Raises:
        NoEnvironmentError: pip could not install it; the message is one line.
    """
    from el_jax.runtime.own_environment import OwnEnvironment, works

    own = OwnEnvironment(
        folder_name="pytorch",
        contents="PyTorch",
        size="1 GB",
        choices=tuple((torch, *OTHERS) for torch in TORCHES),
        check=_CHECK,
        without_needs=WITHOUT_NEEDS,
    )
    return sys.executable if works(sys.executable, own.check) else own.python(install=install)


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

    def __str__(self) -> str:
        name = PRESET_NAMES[self.preset]
        asked = "" if self.asked is None else f", {self.asked} asked in each"
        return f"{name} {self.num_layers}L/{self.width}, {self.windows}x{self.length} tokens{asked}"

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Our task, PyTorch's, and the name of the ratio of their times."""
        if self.asked is not None:
            yield "asked", "asked", "update / PyTorch"
        yield "all", "all", "update, all positions / PyTorch"
        yield "plain", "all", "gradient and AdamW alone, all positions / PyTorch"


def measure(cases: Sequence[Case], rounds: int) -> Iterator[Measurement]:
    """Ratios of times of an update, ours over PyTorch's, both on one core.

    Raises:
        DisagreementError: the two sides do not compute the same.
    """
    from el_jax.runtime.own_environment import NoEnvironmentError

    try:
        python = python_with_pytorch()
    except NoEnvironmentError as error:
        yield from (Measurement(str(case), not_measured=str(error)) for case in cases)
        return
    for case in cases:
        yield Measurement(str(case), _compare(case, rounds, python))


def _compare(case: Case, rounds: int, python: str) -> dict[str, np.ndarray]:
    """Time both sides in turns, on the same core."""
    values: dict[str, np.ndarray] = {}
    core = next(iter(cores()), None)
    with tempfile.TemporaryDirectory() as folder:
        asked = [folder, json.dumps(dataclasses.asdict(case))]
        with Worker(__name__, ["--worker", "ours", *asked], core) as ours:
            ours.ready()
            with Worker(__name__, ["--worker", "theirs", *asked], core, python) as theirs:
                theirs.ready()
                check_agreement(Path(folder))
                for name, other, ratio in case.pairs():
                    found = compare(theirs.timing(other), ours.timing(name), rounds)
                    values[ratio] = found.ratios
                    took = 1e3 * found.second_seconds / case.num_updates
                    values.setdefault(f"{ratio.partition(' / ')[0]}, ms", took)
    return values


def check_agreement(folder: Path) -> None:
    """Check that both sides give the same logits, and the same loss after one update.

    Args:
        folder: the folder of ``ours.npz`` and ``theirs.npz``.

    Raises:
        DisagreementError: names the array that differs, and the difference.
    """
    with np.load(folder / "ours.npz") as ours, np.load(folder / "theirs.npz") as theirs:
        for name in ours.files:
            difference = float(np.abs(ours[name] - theirs[name]).max())
            if not difference <= AGREEMENT:
                raise DisagreementError(f"{name} differs from PyTorch's by {difference:.2g}")


def _ours(folder: Path, case: Case) -> dict[str, Callable[[], None]]:
    """Write the model, and of each batch its logits and its losses before and after an update.

    That update is a plain one, which compiles quickly; a test compares it with the engine's.
    """
    import jax

    from el_jax.losses import cross_entropy, token_stats
    from el_jax.models import PRESETS, transformer
    from el_jax.models.pretrained import save_pretrained
    from el_jax.runtime.compilation import use_compilation_cache
    from experiments.bench.trainings import PlainUpdates, Updates, on_one_batch, random_batch

    use_compilation_cache()
    model = dataclasses.replace(
        PRESETS[case.preset],
        vocab_size=case.vocab_size,
        width=case.width,
        num_layers=case.num_layers,
        num_heads=case.num_heads,
        max_length=case.length,
        rotary_fraction=0.5,
        embedding_dropout=0.0,
        attention_dropout=0.0,
        residual_dropout=0.0,
    )
    apply = jax.jit(transformer(model).apply)
    names = {"all": None} if case.asked is None else {"all": None, "asked": case.asked}
    works: dict[str, Callable[[], None]] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, asked in names.items():
        batch = random_batch(case.vocab_size, case.windows, case.length, asked)
        one, losses = PlainUpdates(model, batch, 1), []
        if asked is None:
            save_pretrained(folder / "model", model, jax.device_get(one.params))
        for _ in range(2):
            logits = apply(one.params, batch)
            arrays.setdefault(f"{name}_logits", np.asarray(logits))
            losses.append(float(cross_entropy(token_stats(logits, batch.labels)).mean()))
            one()
        arrays[f"{name}_losses"] = np.array(losses)
        read = {"tokens": batch.tokens, "supervised": batch.supervised, "labels": batch.labels}
        _save(folder / f"batch_{name}.npz", jax.device_get(read))
        works[name] = Updates(on_one_batch(model, batch), case.num_updates)
        if asked is None:
            works["plain"] = PlainUpdates(model, batch, case.num_updates)
    _save(folder / "ours.npz", arrays)
    return works


def _save(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    np.savez(path, allow_pickle=False, **dict(arrays))


def _theirs(folder: Path, case: Case) -> dict[str, Callable[[], None]]:
    """Load the published class with our parameters; write the same arrays as our side."""
    import torch

    torch.set_num_threads(1)
    works: dict[str, Callable[[], None]] = {}
    arrays: dict[str, np.ndarray] = {}
    for path in folder.glob("batch_*.npz"):
        name = path.stem.removeprefix("batch_")
        logits, loss, update = _torch_training(folder, path)
        arrays[f"{name}_logits"] = logits().detach().cpu().numpy()
        losses = [loss().item()]
        update()
        arrays[f"{name}_losses"] = np.array([*losses, loss().item()])
        works[name] = _repeat(update, case.num_updates)
    _save(folder / "theirs.npz", arrays)
    return works


def _repeat(update: Callable[[], None], times: int) -> Callable[[], None]:
    def work() -> None:
        for _ in range(times):
            update()

    return work


def _torch_training(
    folder: Path, batch: Path
) -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], None]]:
    """Logits at the supervised positions, their mean cross-entropy in nats, and an update."""
    import torch
    import transformers

    # in float32, with PyTorch's own fused attention
    own = {"attn_implementation": "sdpa", "use_cache": False}
    model = transformers.AutoModelForCausalLM.from_pretrained(folder / "model", **own)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_LR, weight_decay=0.0, fused=True)
    with np.load(batch) as arrays:
        tokens, supervised, labels = (
            torch.from_numpy(arrays[name].astype(np.int64))
            for name in ("tokens", "supervised", "labels")
        )
    rows = torch.arange(len(tokens))[:, None]

    def logits() -> Any:
        return model(tokens).logits[rows, supervised]

    def loss() -> Any:
        return torch.nn.functional.cross_entropy(logits().flatten(0, 1), labels.flatten())

    def update() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()

    return logits, loss, update


def _cases(copy_updates: int, language_updates: int) -> tuple[Case, ...]:
    """The copy task's model with one supervised letter a window, and a small language model."""
    copy = Case("gpt_neox", 29, 32, 3, 2, 8, 55, 1, copy_updates)
    language = Case("gpt_neox", 65, 128, 4, 4, 12, 64, None, language_updates)
    return tuple(
        dataclasses.replace(case, preset=preset)
        for case in (copy, language)
        for preset in PRESET_NAMES
    )


BENCHMARK = Benchmark(
    measure,
    {
        "smoke": (_cases(1, 1)[:1], 1),
        "cpu": (_cases(10, 3), 9),
        "gpu": ((), 9),  # PyTorch's side is made for a CPU
    },
)

if __name__ == "__main__":
    side = {"ours": _ours, "theirs": _theirs}[sys.argv[2]]
    serve(side(Path(sys.argv[3]), Case(**json.loads(sys.argv[4]))))
