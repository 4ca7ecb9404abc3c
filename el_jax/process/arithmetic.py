"""Correct sums on CPUs: the XLA flag that they need.

On CPUs jaxlib 0.10 to 0.12 computes some sums with YNNPACK kernels that return garbage:

* a product with a scalar broadcast to a matrix, then summed (0.10 to 0.12);
* the squares of 32,769 or more rows of three, summed row by row under vmap (0.10);
* a product with seven axes, summed over one of them, which kills the process (0.10).

XLA's other kernels for sums are correct. ``import el_jax`` selects them by a flag, which XLA reads
at the first computation of the process. README.md has six lines that show the fault, and a test
compares sums with exact arithmetic.
"""

import importlib.metadata
import os
import pathlib
import re
import sys
import warnings

_NAME = "--xla_cpu_experimental_ynn_fusion_type"
FLAG = f"{_NAME}=-reduce"  # removes sums from the default list and leaves products on it
_OLDEST, _BEYOND = (0, 10, 1), (0, 13)  # jaxlib versions that know the flag and need it


def select_right_sums() -> None:
    """Append ``FLAG`` to ``XLA_FLAGS``, unless the variable names the same option already.

    Warns:
        RuntimeWarning: JAX has already computed in this process, so the flag comes too late.
    """
    if not _OLDEST <= _jaxlib() < _BEYOND:
        return  # an unknown flag would end the process
    flags = _flags()
    if _NAME in flags:
        return
    os.environ["XLA_FLAGS"] = f"{flags} {FLAG}".strip()
    if _backend_runs():
        warnings.warn(
            f"JAX ran before el_jax was imported, without {FLAG}: on a CPU it may return wrong "
            "sums. Import el_jax before the first computation, or put the flag into XLA_FLAGS.",
            RuntimeWarning,
            stacklevel=3,
        )


def _jaxlib() -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", importlib.metadata.version("jaxlib"))
    return tuple(map(int, found[0].split("."))) if found else ()


def _flags() -> str:
    """``XLA_FLAGS``, or the content of the file that it names."""
    flags = os.environ.get("XLA_FLAGS", "")
    if not flags or flags.lstrip().startswith("-"):
        return flags
    return pathlib.Path(flags).read_text(encoding="utf-8")  # XLA also reads flags from a file


def _backend_runs() -> bool:
    bridge = sys.modules.get("jax._src.xla_bridge")  # JAX has no public way to ask
    return bridge is not None and bridge.backends_are_initialized()
