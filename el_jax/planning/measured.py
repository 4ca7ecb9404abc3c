"""The numbers of the machine at hand, measured on its CPU in a second or two."""

import functools
import os
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from el_jax.training.memory import free_bytes


@functools.cache
def this_cpu() -> dict[str, Any]:
    """All cores of this CPU as one ``Chip`` without neighbours; measured once."""
    device = jax.devices("cpu")[0]
    with jax.default_device(device):
        speeds = {dtype: _products_per_second(dtype) for dtype in ("float32", "bfloat16")}
        array = jnp.zeros(2**26, jnp.float32)  # larger than the caches
        bandwidth = 2 * array.nbytes / _seconds(jax.jit(jnp.negative), array)
    of_machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        **speeds,
        "float32_highest": speeds["float32"],
        "platform": "cpu",
        "source": "measured here: products of 1024 x 1024 matrices, a copy of 256 MB, free memory",
        "memory": float(free_bytes([device]) or of_machine),
        "bandwidth": bandwidth,
        "link": bandwidth,
        "host_devices": 1,
        "compiler": "cpu",
    }


def _products_per_second(dtype: str) -> float:
    square = jnp.ones((1024, 1024), dtype)
    return 2 * 1024**3 / _seconds(jax.jit(jnp.matmul), square, square)


def _seconds(function: Callable[..., jax.Array], *args: jax.Array) -> float:
    """Seconds of the fastest of three calls, after one call to compile."""
    function(*args).block_until_ready()
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        function(*args).block_until_ready()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)
