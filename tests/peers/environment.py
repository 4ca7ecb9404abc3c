"""Programs of a peer, in an environment that has PyTorch."""

import functools
import os
import pathlib
import subprocess

from experiments.bench.pytorch import python_with_pytorch

ROOT = pathlib.Path(__file__).parents[2]


@functools.cache
def _install(package: str) -> None:
    command = [python_with_pytorch(), "-m", "pip", "install", "-q", package]
    subprocess.run(command, check=True)


def run_peer(
    module: str, *arguments: object, packages: pathlib.Path | None = None, needs: str = ""
) -> str:
    """Standard output of a module run in that environment; PyTorch is installed if it is missing.

    Args:
        module: the module.
        arguments: of its command line.
        packages: a further folder of packages that it sees.
        needs: a further package that pip installs there.
    """
    if needs:
        _install(needs)
    command = [python_with_pytorch(), "-m", module, *map(str, arguments)]
    path = os.pathsep.join(map(str, filter(None, (ROOT, packages))))
    offline = {"HF_HUB_OFFLINE": "1", "PYTHONPATH": path}
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | offline, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
