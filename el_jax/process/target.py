"""The devices that programs are compiled for: this machine's, or those of one elsewhere."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import NamedTuple

import jax


class Target(NamedTuple):
    """A machine that programs are compiled for.

    Attributes:
        platform: its name as in ``jax.default_backend()``: "cpu", "gpu" or "tpu".
        num_devices: number of its devices.
        num_processes: number of processes that train on it, one per host.
        devices: the devices, not necessarily of this machine; if empty, there is no compiler for
            them: layouts are chosen and programs traced, but nothing is compiled.
    """

    platform: str
    num_devices: int
    num_processes: int = 1
    devices: tuple[jax.Device, ...] = ()


_ELSEWHERE: ContextVar[Target | None] = ContextVar("_ELSEWHERE", default=None)


@contextlib.contextmanager
def compiling_for(target: Target) -> Iterator[None]:
    """Choose layouts and compiler options for ``target`` in this block."""
    before = _ELSEWHERE.set(target)
    try:
        yield
    finally:
        _ELSEWHERE.reset(before)


def platform() -> str:
    """The name of the platform that programs are compiled for."""
    elsewhere = _ELSEWHERE.get()
    return jax.default_backend() if elsewhere is None else elsewhere.platform


def num_devices() -> int:
    """Number of devices that programs are compiled for."""
    elsewhere = _ELSEWHERE.get()
    return jax.device_count() if elsewhere is None else elsewhere.num_devices


def num_processes() -> int:
    """Number of processes that train on them."""
    elsewhere = _ELSEWHERE.get()
    return jax.process_count() if elsewhere is None else elsewhere.num_processes


def devices() -> list[jax.Device]:
    """The devices that programs are compiled for."""
    elsewhere = _ELSEWHERE.get()
    return jax.devices() if elsewhere is None else list(elsewhere.devices)
