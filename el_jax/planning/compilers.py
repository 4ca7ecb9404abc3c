"""The compilers for TPUs and NVIDIA GPUs, in a folder and a process of their own.

They compile on any CPU and need neither such a device nor NVIDIA's libraries.
"""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from el_jax.planning.machines import Machine

_ROOT = Path(__file__).parents[2]
# Without a card there is nothing to time candidates on; and without autotuning some bfloat16
# products find no tiling in Triton.
_GPU_FLAGS = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"
# libtpu asks Google's metadata server about its machine unless the environment describes one
_NO_TPU_HERE = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # it locks a TPU's host, where only one process may compute
}


class NoCompilerError(RuntimeError):
    """There is no compiler for a machine; the message is one line."""


class CompilerError(RuntimeError):
    """A compiler ended without an answer; the message has its last output."""


def packages(*, install: bool = True) -> Path:
    """The folder in the user's cache with the compilers for the installed version of jax.

    Args:
        install: True if pip may fill it, where it is missing.

    Raises:
        NoCompilerError: it is missing and may not or cannot be filled.
    """
    jaxlib = importlib.metadata.version("jaxlib")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "el_jax" / "compilers" / jaxlib
    if folder.exists():
        return folder
    if not install:
        raise NoCompilerError("the compilers for TPUs and GPUs: not installed")
    asked = importlib.metadata.requires("jax") or []
    (libtpu,) = {match[1] for text in asked if (match := re.match(r"(libtpu[^;\s]*)", text))}
    names = libtpu, f"jax-cuda12-plugin=={jaxlib}", f"jax-cuda12-pjrt=={jaxlib}"
    print(
        f"installing the compilers for TPUs and GPUs into {folder} (0.4 GB to download, 1.2 GB on "
        "disk, once, some minutes) ...",
        flush=True,
    )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as begun:  # gets its name when whole
            target = Path(begun) / "packages"
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            subprocess.run([*pip, "--target", target, *names], capture_output=True, check=True)
            target.rename(folder)
    except (OSError, subprocess.CalledProcessError) as error:  # from the disk or pip
        said = getattr(error, "stderr", b"").decode(errors="replace").strip() or str(error)
        raise NoCompilerError(
            f"the compilers for TPUs and GPUs cannot be installed ({said.splitlines()[-1][:200]})"
        ) from error
    return folder


def compile_elsewhere(
    config: dict[str, Any], machine: Machine, *, install: bool = True
) -> dict[str, Any]:
    """Compile a training's updates for a machine, in a process with its compiler.

    Args:
        config: a resolved config, as plain values.
        machine: the machine.
        install: True if the compilers may be installed.

    Returns:
        See ``compile_worker.compile_updates``.

    Raises:
        NoCompilerError: there is no compiler for the machine, or it cannot be installed.
        CompilerError: the compiler fails on the program.
    """
    if not machine.chip.compiler:
        raise NoCompilerError(f"there is no compiler for a whole device of {machine.name}")
    compilers = packages(install=install)
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder) / "asked.json", Path(folder) / "answer.json"
        asked.write_text(json.dumps({"config": config, "machine": machine.name}))
        done = subprocess.run(
            [sys.executable, "-m", "el_jax.planning.compile_worker", asked, answer],
            env=variables_for(machine.chip.platform, compilers),
            capture_output=True,
            text=True,
            errors="replace",  # a compiler may write bytes that are not text
            check=False,
        )
        if not answer.exists():
            said = " ".join((done.stderr.strip().splitlines() or ["no message"])[-3:])
            raise CompilerError(f"compiler of {machine.name}: {said[-400:]}")
        return json.loads(answer.read_text())


def variables_for(platform: str, compilers: Path) -> dict[str, str]:
    """Environment variables of a process that compiles for "tpu" or "gpu".

    Args:
        platform: the platform.
        compilers: the folder of their packages.
    """
    variables = {**os.environ, **_NO_TPU_HERE, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    variables["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(_ROOT), str(compilers), os.environ.get("PYTHONPATH")))
    )
    if platform == "gpu":
        variables["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_GPU_FLAGS}".strip()
    return variables
