"""One training update against the same update in PyTorch.

python -m experiments.bench.pytorch ours|theirs FOLDER JSON

Our worker writes the model and batches for the other side into FOLDER, and both write the logits
and losses that must agree. Tasks are ``asked`` and ``all``, updates with some or all positions
supervised, and on our side ``plain``, only gradient and AdamW with all positions. PyTorch's worker
runs in its own environment without JAX.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.bench.paired import (
    Benchmark,
    Case,
    DisagreementError,
    NotMeasuredError,
    Values,
    compare,
    serve,
    two_workers,
)

AGREEMENT = 1e-4  # between logits and losses
PEAK_LR = 1e-3
PAIRS = (  # our task, PyTorch's, name of the timing
    ("asked", "asked", "update"),
    ("all", "all", "update, all positions"),
    ("plain", "all", "gradient and AdamW alone, all positions"),
)

# PyTorch without CUDA, 0.2 GB instead of 3 GB, where the configured index has it
TORCHES = ("torch==2.13.0+cpu", "torch")
OTHERS = (
    "transformers>=5",
    *("numpy", "scipy", "tqdm", "einops", "einconv", "linear_operator", "opt-einsum", "unfoldNd"),
)
# these require torchvision, unused here; one built for another PyTorch breaks transformers
WITHOUT_NEEDS = ("PyHessian", "backpack-for-pytorch>=1.6", "curvlinops-for-pytorch>=3")
_CHECK = (
    "import torch, transformers, curvlinops, pyhessian; transformers.GPTNeoXForCausalLM; "
    "assert int(transformers.__version__.split('.')[0]) >= 5"
)


def python_with_pytorch(*, install: bool = True) -> str:
    """The interpreter for PyTorch's side: this one, or one that is installed once.

    Args:
        install: True if an environment may be made; otherwise only an existing one is used.

    Raises:
        NotMeasuredError: pip cannot install it; the message is one line.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "el_jax" / "pytorch"
    python = str(folder / "bin" / "python")
    for known in (sys.executable, python):
        if _has_pytorch(known):
            return known
    if not install:
        raise NotMeasuredError("PyTorch: not installed")
    print(f"installing PyTorch into {folder} (1 GB, once, some minutes) ...", flush=True)
    try:
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        for torch in TORCHES:
            done = subprocess.run([*pip, torch, *OTHERS], capture_output=True, check=False)
            if done.returncode == 0:
                break
        done.check_returncode()
        subprocess.run([*pip, "--no-deps", *WITHOUT_NEEDS], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:  # from the disk, venv or pip
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        reason = (said or str(error)).splitlines()[-1]
        raise NotMeasuredError(f"PyTorch: {folder} cannot be made ({reason})") from error
    if not _has_pytorch(python):
        raise NotMeasuredError(f"PyTorch: what is in {folder} does not work; delete that folder")
    return python


def _has_pytorch(python: str) -> bool:
    try:
        return (
            subprocess.run([python, "-c", _CHECK], capture_output=True, check=False).returncode == 0
        )
    except OSError:  # no such file, or one that cannot be executed
        return False


def measure(case: Case, rounds: int) -> Values:
    """Ratios of update times, ours over PyTorch's, both on one core.

    Raises:
        DisagreementError: the two sides do not compute the same.
    """
    python, values = python_with_pytorch(), Values()
    with tempfile.TemporaryDirectory() as folder:
        asked = [folder, json.dumps(dict(case))]
        with two_workers(__name__, ("ours", "theirs"), asked, python) as (ours, theirs):
            check_agreement(Path(folder))
            for name, other, words in PAIRS["asked" not in case :]:
                found = compare(theirs.timing(other), ours.timing(name), rounds)
                values[f"{words} / PyTorch"] = found.ratios
                values[f"{words}, ms"] = 1e3 * found.second_seconds / case["num_updates"]
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
    """Write the model, and for each batch the logits and the losses before and after an update.

    This update is a plain one, which compiles quickly; a test compares it with the engine's.
    """
    import jax

    from el_jax.losses import cross_entropy, token_stats
    from el_jax.models import transformer
    from el_jax.models.pretrained import save_pretrained
    from el_jax.process.compilation import use_compilation_cache
    from experiments.bench.trainings import (
        PlainUpdates,
        Updates,
        network,
        on_one_batch,
        random_batch,
    )

    use_compilation_cache()
    model = network(case["preset"], case, rotary_fraction=0.5, max_length=case["length"])
    apply = jax.jit(transformer(model).apply)
    names = {"all": None} | ({"asked": case["asked"]} if "asked" in case else {})
    works: dict[str, Callable[[], None]] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, asked in names.items():
        batch = random_batch(case["vocab_size"], case["windows"], case["length"], asked)
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
        np.savez(folder / f"batch_{name}.npz", **jax.device_get(read))
        works[name] = Updates(on_one_batch(model, batch), case["num_updates"])
        if asked is None:
            works["plain"] = PlainUpdates(model, batch, case["num_updates"])
    np.savez(folder / "ours.npz", allow_pickle=False, **arrays)
    return works


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
        works[name] = partial(_repeat, update, case["num_updates"])
    np.savez(folder / "theirs.npz", allow_pickle=False, **arrays)
    return works


def _repeat(update: Callable[[], None], times: int) -> None:
    for _ in range(times):
        update()


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


def _cases(copy_updates: int, language_updates: int) -> dict[str, Case]:
    """The copy task's model with one supervised letter a window, and a small language model."""
    names = ("vocab_size", "width", "num_layers", "num_heads", "windows", "length", "num_updates")
    copy = dict(zip(names, (29, 32, 3, 2, 8, 55, copy_updates), strict=True))
    language = dict(zip(names, (65, 128, 4, 4, 12, 64, language_updates), strict=True))
    sizes = {
        "3L/32, 8x55 tokens, 1 asked in each": {**copy, "asked": 1},
        "4L/128, 12x64 tokens": language,
    }
    return {
        f"{name} {words}": {"preset": preset, **case}
        for preset, name in (("gpt_neox", "GPT-NeoX"), ("gpt2", "GPT-2"))
        for words, case in sizes.items()
    }


BENCHMARK = Benchmark(
    measure,
    {
        "smoke": (dict([*_cases(1, 1).items()][:1]), 1),
        "cpu": (_cases(10, 3), 9),
        "gpu": ({},),  # PyTorch's side is for a CPU
    },
)

if __name__ == "__main__":
    side = {"ours": _ours, "theirs": _theirs}[sys.argv[1]]
    serve(side(Path(sys.argv[2]), json.loads(sys.argv[3])))
