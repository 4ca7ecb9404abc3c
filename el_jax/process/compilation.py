"""Compilation: a cache shared by all processes, and less effort for programs that run once."""

import ctypes
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from el_jax.process import target


class Once:
    """``jax.jit`` of a function that is called once, such as one that draws data.

    On CPUs LLVM optimises it less, or not at all, so that compilation takes a third to a half of
    the time. Other compilers have no such level.

    Args:
        function: the function to compile.
        level: LLVM's optimisation level. At 0 data are bit-equal, but normal numbers may differ in
            the last bit; at 1 these are bit-equal, too (tested).
        **options: as for ``jax.jit``.
    """

    def __init__(self, function: Callable[..., Any], *, level: int = 0, **options: Any) -> None:
        quick: dict[str, Any] | None = None
        if target.platform() == "cpu":
            quick = {"xla_backend_optimization_level": level}
        self._compiled = jax.jit(function, compiler_options=quick, **options)
        self._traced = jax.jit(function, **options)
        self.lower = self._compiled.lower

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The function's result."""
        # a program inside another cannot have its own options
        tracing = isinstance(jnp.zeros(()), jax.core.Tracer)
        return (self._traced if tracing else self._compiled)(*args, **named)


def use_compilation_cache() -> None:
    """Keep compiled programs in the user's cache folder, so that later starts are quick.

    ``JAX_COMPILATION_CACHE_DIR`` moves the folder, or switches the cache off if it is empty.
    """
    folder = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if folder is None and (caches := os.environ.get("XDG_CACHE_HOME") or _home_cache()):
        folder = os.path.join(caches, "el_jax", "xla")
    jax.config.update("jax_compilation_cache_dir", folder or None)
    # small programs too: there are dozens, and together they take seconds
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def release_freed_memory() -> None:
    """Return freed memory to the system: the compiler's is half of a small training's.

    The C library of most Linux systems would keep it; elsewhere this does nothing.
    """
    if os.name == "posix" and hasattr(process := ctypes.CDLL(None), "malloc_trim"):
        process.malloc_trim(0)


def _home_cache() -> str | None:
    """The user's own cache folder; None for a user without a home, as in some containers."""
    home = os.path.expanduser("~")
    return None if home in ("~", "/") else os.path.join(home, ".cache")
