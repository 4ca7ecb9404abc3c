"""The numbers of the machine at hand, measured on its CPU in a second or two."""

import functools
import os
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from el_jax.training.devices.memory import free_bytes

_SIDE = 1024  # of the multiplied matrices: 2 Gop, and 4 MB each
_COPIED = 2**26  # numbers of 4 bytes: more than caches hold
_TIMES = 3


class Measured(NamedTuple):
    """Speeds of a CPU, all of its cores together.

    Attributes:
        float32: products in float32, operations/s.
        bfloat16: products in bfloat16, operations/s.
        memory: free bytes, as a training finds them.
        bandwidth: of the memory, bytes read and written a second.
    """

    float32: float
    bfloat16: float
    memory: float
    bandwidth: float


@functools.cache
def this_cpu() -> Measured:
    """Measure once in a process: products of two 1024 × 1024 matrices, and a copy of 256 MB."""
    device = jax.devices("cpu")[0]
    with jax.default_device(device):
        speeds = {dtype: _products_per_second(dtype) for dtype in ("float32", "bfloat16")}
        array = jnp.zeros(_COPIED, jnp.float32)
        seconds = _best(jax.jit(jnp.negative), array)
    of_machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    free = free_bytes([device]) or of_machine
    return Measured(**speeds, memory=float(free), bandwidth=2 * array.nbytes / seconds)


def _products_per_second(dtype: str) -> float:
    square = jnp.ones((_SIDE, _SIDE), dtype)
    return 2 * _SIDE**3 / _best(jax.jit(jnp.matmul), square, square)


def _best(function: Callable[..., jax.Array], *args: jax.Array) -> float:
    """Seconds of the fastest of a few calls, after one that compiles."""
    function(*args).block_until_ready()
    seconds = []
    for _ in range(_TIMES):
        begun = time.perf_counter()
        function(*args).block_until_ready()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)
