"""Correct sums on CPUs: the XLA flag that they need, and a canary that detects its absence.

On CPUs jaxlib 0.10 to 0.12 computes some sums with YNNPACK kernels that return garbage:

* a product with a scalar broadcast to a matrix, then summed (0.10 to 0.12);
* the squares of 32,769 or more rows of three, summed row by row under vmap (0.10);
* a product with seven axes, summed over one of them, which kills the process (0.10).

XLA's other kernels for sums are correct. ``import el_jax`` selects them by a flag, which XLA reads
at the first computation of the process. README.md has six lines that show the fault.
"""

import functools
import importlib.metadata
import os
import pathlib
import re
import sys
import warnings

import numpy as np

from el_jax.process.errors import ARITHMETIC, UserError

_NAME = "--xla_cpu_experimental_ynn_fusion_type"
FLAG = f"{_NAME}=-reduce"  # removes sums from the default list and leaves products on it
OVERRIDE = "EL_JAX_WRONG_ARITHMETIC"  # environment variable; "allow" turns the error into a warning
_OLDEST, _BEYOND = (0, 10, 1), (0, 13)  # jaxlib versions that know the flag and need it


class WrongArithmeticError(UserError, RuntimeError):
    """XLA computes wrong numbers in this process."""

    exit_code = ARITHMETIC


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


def check() -> None:
    """Run the canary: milliseconds, plus a fraction of a second to compile the first time.

    Raises:
        WrongArithmeticError: names the fault, the flag and the version; a warning instead if the
            environment variable ``EL_JAX_WRONG_ARITHMETIC`` is ``allow``.
    """
    wrong = wrong_sums()
    if not wrong:
        return
    message = (
        f"jaxlib {importlib.metadata.version('jaxlib')} computes wrong sums "
        f"({', '.join(wrong)}): {_remedy()} (or set {OVERRIDE}=allow)"
    )
    if os.environ.get(OVERRIDE) != "allow":
        raise WrongArithmeticError(message)
    print(f"warning: {message}", file=sys.stderr, flush=True)


@functools.cache  # XLA reads its flags once per process
def wrong_sums() -> tuple[str, ...]:
    """The canary's sums that differ from exact arithmetic; empty if all are right.

    Always empty on accelerators, which have other kernels.
    """
    import jax  # not above: whoever imports el_jax may still choose devices
    import jax.numpy as jnp

    if jax.default_backend() != "cpu":
        return ()
    signs = (np.arange(6 * 64 * 64) * 7919 % 5 - 2).reshape(6, 64, 64).astype(np.float32)
    rows = np.zeros((32_769, 3), np.float32)
    rows[:, 0] = np.arange(len(rows))

    def program(signs: jax.Array, rows: jax.Array) -> tuple[jax.Array, ...]:
        of_zeros = ((signs @ jnp.zeros((64, 64))) * signs).sum()
        of_ones = ((signs @ jnp.ones((64, 64))) * signs).sum(-1)
        of_rows = jax.vmap(lambda row: jnp.sum((jnp.eye(3) @ row) ** 2))(rows)
        return of_zeros, of_ones, of_rows

    found = jax.device_get(jax.jit(program)(signs, rows))
    exact = {
        "times zeros": np.float32(0),
        "times ones": signs.sum(-1) ** 2,
        "of rows": rows[:, 0] ** 2,
    }
    pairs = zip(exact.items(), found, strict=True)
    return tuple(name for (name, right), value in pairs if not np.array_equal(value, right))


def record() -> dict[str, str]:
    """The XLA flags of this process and the canary's verdict, for the records of a run."""
    wrong = wrong_sums()
    canary = f"wrong: {', '.join(wrong)}" if wrong else "right"
    return {"xla_flags": os.environ.get("XLA_FLAGS", ""), "canary": canary}


def _jaxlib() -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", importlib.metadata.version("jaxlib"))
    return tuple(map(int, found[0].split("."))) if found else ()


def _flags() -> str:
    """``XLA_FLAGS``, or the content of the file that it names."""
    flags = os.environ.get("XLA_FLAGS", "")
    if not flags or flags.lstrip().startswith("-"):
        return flags
    return pathlib.Path(flags).read_text(encoding="utf-8")  # XLA also reads flags from a file


def _remedy() -> str:
    given = [flag for flag in _flags().split() if flag.startswith(_NAME)]
    if given == [FLAG]:
        return f"{FLAG} came after JAX's first computation; import el_jax before it"
    values = [flag.removeprefix(f"{_NAME}=") for flag in given]
    return f"put {FLAG} into XLA_FLAGS" + (f", not {', '.join(values)!r}" if given else "")


def _backend_runs() -> bool:
    bridge = sys.modules.get("jax._src.xla_bridge")  # JAX has no public way to ask
    return bridge is not None and bridge.backends_are_initialized()
