"""A Python that has PyTorch: this one, or an environment of the benchmark's own."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

# PyTorch without CUDA, 0.2 GB instead of 3 GB, where the configured index has it
CPU_TORCH, ANY_TORCH = "torch==2.13.0+cpu", "torch"
TRANSFORMERS = ("transformers>=5", "numpy")
_CHECK = (
    "import torch, transformers; assert int(transformers.__version__.split('.')[0]) >= 5; "
    "assert {cuda} <= torch.cuda.is_available()"
)


class NoPyTorchError(RuntimeError):
    """PyTorch cannot be had; the message is one line."""


def python_with_pytorch(*, cuda: bool, install: bool = True) -> str:
    """The interpreter to start PyTorch's side with; installs it once.

    Args:
        cuda: True if PyTorch must see a GPU.
        install: True if an environment may be made; otherwise only an existing one is used.

    Raises:
        NoPyTorchError: pip could not install it.
    """
    folder = _folder(cuda)
    own = folder / "bin" / "python"
    for python in (sys.executable, str(own)):
        if _works(python, cuda):
            return python
    if not install:
        raise NoPyTorchError("PyTorch is not installed")
    _install(folder, own, (ANY_TORCH,) if cuda else (CPU_TORCH, ANY_TORCH))
    if not _works(str(own), cuda):
        raise NoPyTorchError(f"the PyTorch in {folder} does not work; delete that folder")
    return str(own)


def _folder(cuda: bool) -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "el_jax" / ("pytorch_cuda" if cuda else "pytorch")


def _works(python: str, cuda: bool) -> bool:
    if not Path(python).exists():
        return False
    command = [python, "-c", _CHECK.format(cuda=cuda)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _install(folder: Path, python: Path, choices: Sequence[str]) -> None:
    print(f"installing PyTorch into {folder} (once, some minutes) ...", flush=True)
    venv.create(folder, with_pip=True, clear=True)
    said = ""
    for torch in choices:
        command = [str(python), "-m", "pip", "install", "--quiet", torch, *TRANSFORMERS]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        said = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
    shutil.rmtree(folder, ignore_errors=True)
    raise NoPyTorchError(f"pip cannot install PyTorch ({said[:120]})")
