"""Programs of a peer, in an environment that has PyTorch."""

import os
import pathlib
import subprocess

from experiments.bench.pytorch import python_with_pytorch

ROOT = pathlib.Path(__file__).parents[2]


def run_peer(module: str, *arguments: object) -> str:
    """Standard output of a module that is run there; PyTorch is installed once, if it must be."""
    command = [python_with_pytorch(), "-m", module, *map(str, arguments)]
    offline = {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | offline, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
