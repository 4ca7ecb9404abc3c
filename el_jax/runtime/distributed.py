"""Flags that make one training of several processes, by ``jax.distributed``.

    --coordinator=HOST:PORT --num_processes=N --process_id=I

on each of N machines, where HOST is that of process 0; or ``--distributed=auto`` on a cluster that
tells jax its processes (SLURM, Open MPI, Kubernetes, TPU pods). Every process gets the same config.

jax's runtime ends a process with SIGABRT and a C++ stack if another process is gone or never
arrives. So the processes meet, and watch each other, over connections of their own.
"""

import atexit
import contextlib
import os
import re
import threading
from collections.abc import Iterator
from typing import NoReturn

import jax
from absl import flags

from el_jax.runtime.errors import LOST, ConfigError
from el_jax.runtime.meeting import meet, split
from el_jax.runtime.relay import relay
from el_jax.runtime.watch import Watch, leave_at_once

_AUTO = flags.DEFINE_enum("distributed", None, ["auto"], "Ask the cluster who takes part.")
_COORDINATOR = flags.DEFINE_string("coordinator", None, "HOST:PORT of process 0.")
_NUM_PROCESSES = flags.DEFINE_integer("num_processes", None, "Processes in all.", lower_bound=1)
_PROCESS_ID = flags.DEFINE_integer("process_id", None, "This one, from 0.", lower_bound=0)
_JOIN_TIMEOUT = flags.DEFINE_float(
    "join_timeout", 30.0, "Seconds in which all processes must have come.", lower_bound=1.0
)
_watches: list[Watch] = []  # of this process: one at the most


def start() -> None:
    """Join the other processes, if the command line names any; call it before jax finds devices.

    Raises:
        ConfigError: the flags do not go together, or the cluster does not tell.
        LostError: the port is taken, or another process did not come in time.
    """
    by_hand = (_COORDINATOR, _NUM_PROCESSES, _PROCESS_ID)
    given = [flag for flag in by_hand if flag.value is not None]
    if _AUTO.value:
        if given:
            raise ConfigError(f"--{given[0].name}: must not be given with --distributed=auto")
        _join()
    elif given:
        for flag in by_hand:
            if flag.value is None:
                raise ConfigError(f"--{flag.name}: missing; --{given[0].name} needs it")
        num, this = int(_NUM_PROCESSES.value or 1), int(_PROCESS_ID.value or 0)
        if this >= num:
            raise ConfigError(f"--process_id={this}: must be below --num_processes={num}")
        _join(_COORDINATOR.value, num, this)


def is_of_runtime(error: Exception) -> bool:
    """True if an error comes from the joint computation of the processes, not from one's own code.

    jax raises such an error as ``JaxRuntimeError`` when it waits for a result, and as a ValueError
    with the same words when it dispatches: the kind of failure, then the transport's message.
    """
    kinds = "ABORTED|CANCELLED|DEADLINE_EXCEEDED|INTERNAL|UNAVAILABLE|UNKNOWN"
    return isinstance(error, jax.errors.JaxRuntimeError) or (
        isinstance(error, ValueError) and re.match(rf"({kinds}): ", str(error)) is not None
    )


def why_lost(error: Exception) -> str:
    """The sentence that names the lost process, or that quotes ``error`` if none is known."""
    known = _watches[0].why(seconds=1.0) if _watches else None
    return known or f"what the processes compute together failed, is one gone? ({error})"


def leave(code: int) -> NoReturn:
    """End this process because of an error, whether or not the other processes met it.

    The other processes are told, and end too. jax's ordinary exit would wait for them, for minutes,
    while they wait for a result that never comes.
    """
    if _watches:
        _watches[0].leave(code)
    leave_at_once(code)


def _leave_in_order() -> None:
    jax.distributed.shutdown()  # waits for all, while each still watches the others
    _watches[0].leave(0)


def _join(address: str | None = None, num: int | None = None, this: int | None = None) -> None:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    flag = f"--coordinator={address}" if address else "--distributed=auto"
    seconds = _JOIN_TIMEOUT.value
    if address and num is not None and this is not None:
        _watches.append(Watch(meet(address, num, this, seconds), num))
        atexit.register(_leave_in_order)
        if this:  # the service is on process 0, and may die with it
            address = relay(*split(address))
    with _time_limit(seconds, f"{flag}: cannot join the other processes within {seconds:g} s"):
        try:
            # jax's own time limit is longer, so that _time_limit always comes first
            jax.distributed.initialize(
                address, num, this, initialization_timeout=int(10 * seconds + 300)
            )
        except (RuntimeError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise ConfigError(f"{flag}: cannot join the other processes ({reason})") from error


@contextlib.contextmanager
def _time_limit(seconds: float, message: str) -> Iterator[None]:
    """End the process with a message unless the block ends in time; jax would print a C++ stack."""

    def end() -> None:
        os.write(2, f"error: {message}\n".encode())
        leave_at_once(LOST)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
