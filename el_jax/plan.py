"""Plan a training for a machine that you may not have: memory, messages, time.

    python -m el_jax.plan --config=FILE[:ARGUMENT] --machine=tpu-v5e-4 [--config.SECTION.KEY=VALUE]

For example --config=configs/el/copy.py:scale=paper --machine=h100-8. Compiles the training's update
for that machine, on this CPU and in minutes, and prints the memory, messages and time it takes.
--compile=no skips the compiler and gives a lower bound on memory and the roofline's time, in
seconds. The compilers are installed into the user's cache folder at their first use.
"""

import pathlib

from absl import flags
from ml_collections import ConfigDict

from el_jax.config.names import known_names
from el_jax.planning import plans, report
from el_jax.planning.machines import MACHINES, machine_of
from el_jax.process import launch
from el_jax.process.errors import ConfigError

_MACHINE = flags.DEFINE_string("machine", None, "The machine to plan for.")
_COMPILE = flags.DEFINE_enum("compile", "yes", ["yes", "no"], "Ask the compiler of the machine.")


def plan(config: ConfigDict, _workdir: pathlib.Path | None) -> None:
    """Print the plan of a training; nothing is written."""
    if not _MACHINE.value:
        raise ConfigError("--machine: missing; for example --machine=tpu-v5e-4")
    machine = machine_of(_MACHINE.value)
    found = plans.plan(config, machine, compiled=_COMPILE.value == "yes")
    print(*report.lines(_title(config), found, machine), sep="\n")


def _names() -> str:
    return f"{known_names()}\n{'machines:':<12}{', '.join(MACHINES)}"


def _title(config: ConfigDict) -> str:
    return f"{config.task.name}, {config.loss.name}, {config.model.name}"


if __name__ == "__main__":
    launch.run(plan, names=_names, needs_workdir=False)
