"""Timing of a JAX function in this process, in seconds."""

import time
from collections.abc import Callable

import jax

from experiments.bench.paired import Timing


def seconds_of(work: Callable[[], object]) -> Timing:
    """A function that does the work once, waits for its result and gives the seconds it took."""

    def seconds() -> float:
        start = time.perf_counter()
        jax.block_until_ready(work())
        return time.perf_counter() - start

    return seconds
