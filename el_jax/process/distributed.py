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
        ConfigError: the other processes cannot be joined, as when the flags contradict each other.
    """
    by_hand = (_COORDINATOR.value, _NUM_PROCESSES.value, _PROCESS_ID.value)
    if by_hand == (None, None, None) and not _AUTO.value:
        return
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        jax.distributed.initialize(
            *by_hand,
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
