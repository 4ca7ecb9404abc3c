"""The compilers for TPUs and NVIDIA GPUs, in their own environment and process.

They compile on any CPU and need neither such a device nor NVIDIA's libraries.
"""

import importlib.metadata
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from el_jax.planning.machines import Machine
from el_jax.process.own_environment import NoEnvironmentError, OwnEnvironment

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


class CompilerError(RuntimeError):
    """A compiler ended without an answer; the message has its last output."""


def environment() -> OwnEnvironment:
    """The compilers for the installed version of jax."""
    jaxlib = importlib.metadata.version("jaxlib")
    asked = importlib.metadata.requires("jax") or []
    (libtpu,) = {match[1] for text in asked if (match := re.match(r"(libtpu[^;\s]*)", text))}
    packages = libtpu, f"jax-cuda12-plugin=={jaxlib}", f"jax-cuda12-pjrt=={jaxlib}"
    return OwnEnvironment(
        folder_name=f"compilers-{jaxlib}",
        contents="the compilers for TPUs and GPUs",
        size="0.4 GB to download, 1.2 GB on disk",
        choices=(("--no-deps", *packages),),
        check="import jax, libtpu, jax_plugins.xla_cuda12",
        sees_ours=True,
    )


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
        NoEnvironmentError: there is no compiler for the machine, or it cannot be installed.
        CompilerError: the compiler fails on the program.
    """
    if not machine.chip.compiler:
        raise NoEnvironmentError(f"there is no compiler for a whole device of {machine.name}")
    python = environment().python(install=install)
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder) / "asked.json", Path(folder) / "answer.json"
        asked.write_text(json.dumps({"config": config, "machine": machine.name}))
        done = subprocess.run(
            [python, "-m", "el_jax.planning.compile_worker", str(asked), str(answer)],
            env=variables_for(machine.chip.platform),
            capture_output=True,
            text=True,
            errors="replace",  # a compiler may write bytes that are not text
            check=False,
        )
        if not answer.exists():
            said = " ".join((done.stderr.strip().splitlines() or ["no message"])[-3:])
            raise CompilerError(f"compiler of {machine.name}: {said[-400:]}")
        return json.loads(answer.read_text())


def variables_for(platform: str) -> dict[str, str]:
    """Environment variables of a process that compiles for "tpu" or "gpu"."""
    variables = {**os.environ, **_NO_TPU_HERE, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    variables["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(_ROOT), os.environ.get("PYTHONPATH")))
    )
    if platform == "gpu":
        variables["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_GPU_FLAGS}".strip()
    return variables
