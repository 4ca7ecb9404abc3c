"""Flags that join several processes into one training, by ``jax.distributed``.

    --coordinator=HOST:PORT --num_processes=N --process_id=I

on each of N machines, where HOST is process 0's; or ``--distributed=auto`` on a cluster that tells
jax its processes (SLURM, Open MPI, Kubernetes, TPU pods). Every process gets the same config. If a
process dies, jax ends the others within ``--heartbeat`` seconds, with its own message.
"""

import os
import sys
from typing import NoReturn

import jax
from absl import flags

from el_jax.process.errors import ConfigError

_AUTO = flags.DEFINE_enum("distributed", None, ["auto"], "Ask the cluster who takes part.")
_COORDINATOR = flags.DEFINE_string("coordinator", None, "HOST:PORT of process 0.")
_NUM_PROCESSES = flags.DEFINE_integer("num_processes", None, "Processes in all.", lower_bound=1)
_PROCESS_ID = flags.DEFINE_integer("process_id", None, "This one, from 0.", lower_bound=0)
_JOIN_TIMEOUT = flags.DEFINE_integer(
    "join_timeout", 30, "Seconds in which all processes must have come.", lower_bound=1
)
_HEARTBEAT = flags.DEFINE_integer(
    "heartbeat", 30, "Seconds without a sign of life after which a process counts as dead."
)


def start() -> None:
    """Join the other processes, if the command line names any; call it before jax finds devices.

    Raises:
        ConfigError: the flags contradict each other, or the other processes cannot be joined.
    """
    by_hand = (_COORDINATOR, _NUM_PROCESSES, _PROCESS_ID)
    given = [flag for flag in by_hand if flag.value is not None]
    missing = [flag for flag in by_hand if flag.value is None]
    if _AUTO.value and given:
        raise ConfigError(f"--{given[0].name}: must not be given with --distributed=auto")
    if given and missing:
        raise ConfigError(f"--{missing[0].name}: missing; --{given[0].name} needs it")
    if given and int(_PROCESS_ID.value or 0) >= int(_NUM_PROCESSES.value or 1):
        raise ConfigError(
            f"--process_id={_PROCESS_ID.value}: must be below --num_processes="
            f"{_NUM_PROCESSES.value}"
        )
    if not (given or _AUTO.value):
        return
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        jax.distributed.initialize(
            _COORDINATOR.value,
            _NUM_PROCESSES.value,
            _PROCESS_ID.value,
            initialization_timeout=_JOIN_TIMEOUT.value,
            heartbeat_timeout_seconds=_HEARTBEAT.value,
        )
    except (RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"cannot join the other processes ({reason})") from error


def leave(code: int) -> NoReturn:
    """End this process at once: an ordinary exit would wait for the others, which wait for it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
