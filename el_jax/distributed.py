"""Flags that make one training of several processes, by ``jax.distributed``.

    --coordinator=HOST:PORT --num_processes=N --process_id=I

on each of N machines, where HOST is that of process 0; or ``--distributed=auto`` where the cluster
says so itself (SLURM, Open MPI, Kubernetes, TPU pods). Every process gets the same config.
"""

import os
import re
import sys
from typing import NoReturn

import jax
from absl import flags

from el_jax.typed_config import ConfigError

_AUTO = flags.DEFINE_enum("distributed", None, ["auto"], "Ask the cluster who takes part.")
_COORDINATOR = flags.DEFINE_string("coordinator", None, "HOST:PORT of process 0.")
_NUM_PROCESSES = flags.DEFINE_integer("num_processes", None, "Processes in all.", lower_bound=1)
_PROCESS_ID = flags.DEFINE_integer("process_id", None, "This one, from 0.", lower_bound=0)


def start() -> None:
    """Join the other processes, if the command line names any; before jax sees its devices.

    Raises:
        ConfigError: the flags do not go together, or the cluster does not tell.
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
    """Whether an error is of what the processes compute together, rather than of one's own code.

    jax raises it as its own class where it waits for a result, and where it dispatches as a
    ValueError with the same words: the kind of failure, then what the transport says.
    """
    kinds = "ABORTED|CANCELLED|DEADLINE_EXCEEDED|INTERNAL|UNAVAILABLE|UNKNOWN"
    return isinstance(error, jax.errors.JaxRuntimeError) or (
        isinstance(error, ValueError) and re.match(rf"({kinds}): ", str(error)) is not None
    )


def leave(code: int) -> NoReturn:
    """End this process without the others, which may be gone or wait for what will never come.

    The ordinary way out waits for all of them, a minute or more.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _join(address: str | None = None, num: int | None = None, this: int | None = None) -> None:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        jax.distributed.initialize(address, num, this)
    except (RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        flag = f"--coordinator={address}" if address else "--distributed=auto"
        raise ConfigError(f"{flag}: cannot join the other processes ({reason})") from error
