"""Blocks of code in float64, on a device that supports it."""

import contextlib
import functools
import logging
from collections.abc import Iterator

import jax

_LOG = logging.getLogger(__name__)
_WITHOUT = ("tpu",)  # platforms whose compilers emulate float64 in part, and slowly


@contextlib.contextmanager
def float64() -> Iterator[None]:
    """Compute in float64 in this block: on the default device, or on the CPU if that is a TPU.

    The first block that moves to the CPU prints a line about it.
    """
    with contextlib.ExitStack() as entered:
        if (platform := jax.default_backend()) in _WITHOUT:
            _tell(platform)
            entered.enter_context(jax.default_device(jax.devices("cpu")[0]))
        entered.enter_context(jax.enable_x64(True))
        yield


@functools.cache
def _tell(platform: str) -> None:
    _LOG.warning("float64 is computed on the CPU: a %s has none", platform.upper())
