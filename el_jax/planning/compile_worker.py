"""Compile a training's updates for a machine elsewhere, in a process that sees its compiler.

    python -m el_jax.planning.compile_worker ASKED.json ANSWER.json

ASKED has the resolved config and the machine's name. ANSWER is the result of ``compile_updates``.
"""

import json
import sys
from pathlib import Path
from typing import Any

from jax.experimental import topologies

from el_jax import build
from el_jax.planning.compiled_text import CompiledText
from el_jax.planning.machines import Machine, machine_of
from el_jax.planning.programs import Shapes, lowered, shapes_of
from el_jax.process.target import Target, compiling_for
from el_jax.training.memory import compiled_bytes, least_bytes


def target_of(machine: Machine) -> Target:
    """The machine, with devices that programs can be compiled for but not run on."""
    platform = machine.chip.platform
    if platform == "gpu":
        topology = topologies.get_topology_desc(
            machine.name,
            "cuda",
            target_config=machine.chip.card_text,
            topology=machine.topology,
        )
    else:
        topology = topologies.get_topology_desc(machine.topology, "tpu")
    devices = tuple(topology.devices[: machine.num_devices])
    return Target(platform, len(devices), machine.num_hosts, devices)


def compile_updates(shapes: Shapes, num_updates: int) -> dict[str, Any]:
    """Compile a dispatch of updates.

    Args:
        shapes: the training's shapes.
        num_updates: updates per dispatch.

    Returns:
        For one device: ``parts``, bytes by name (see ``compiled_bytes``); ``state``, bytes of the
        state; and for one update ``messages``, each with kind, bytes and number, and ``cycles``.
    """
    parts, compiled = compiled_bytes(lowered(shapes, num_updates))
    text = CompiledText((compiled and compiled.as_text()) or "")
    least = least_bytes(shapes.spec.layout, shapes.state, shapes.data)
    return {
        "parts": parts,
        "state": least["parameters and optimizer state"],
        "messages": [list(message) for message in text.messages(num_updates)],
        "cycles": text.cycles() / num_updates,
    }


def main(asked: Path, answer: Path) -> None:
    """Read the request, compile, and write the compiler's numbers."""
    request = json.loads(asked.read_text())
    machine = machine_of(request["machine"])
    with compiling_for(target_of(machine)):
        settings = build.parse(build.Config(request["config"]))
        shapes, num_updates = shapes_of(build.make_spec(settings)), settings.train.log_every
        found = compile_updates(shapes, num_updates)
    answer.write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
