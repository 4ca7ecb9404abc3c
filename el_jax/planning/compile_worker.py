"""Compile programs of a training for a machine elsewhere: a process of the compilers' environment.

    python -m el_jax.planning.compile_worker ASKED.json ANSWER.json

ASKED has the resolved config, the name of the machine and the names of the programs. ANSWER has
the compiler's facts of each.
"""

import importlib.util
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import jax
from jax.experimental import topologies

from el_jax import build
from el_jax.models import TransformerConfig, attention_choice
from el_jax.planning.compiled_text import CompiledText, arrays_of, bytes_needed
from el_jax.planning.machines import Card, Chip, Machine, machine_of
from el_jax.planning.programs import Shapes, lowered, shapes_of
from el_jax.runtime.errors import is_out_of_memory
from el_jax.runtime.target import Target, compiling_for
from el_jax.training.devices.memory import USABLE, num_bytes
from el_jax.training.program import runs_of

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def target_of(machine: Machine) -> Target:
    """The machine with devices that can be compiled for, though not computed on."""
    if machine.chip.platform == "cpu":
        return Target("cpu", 1, devices=tuple(jax.devices("cpu")[:1]))
    if machine.chip.platform == "gpu":
        topology = topologies.get_topology_desc(
            machine.name,
            "cuda",
            target_config=card_text(machine.chip),
            topology=machine.topology,
        )
    else:
        slices = {"num_slices": machine.num_slices} if machine.num_slices > 1 else {}
        topology = topologies.get_topology_desc(machine.topology, "tpu", **slices)
    devices = tuple(topology.devices[: machine.num_devices])
    return Target(
        machine.chip.platform, len(devices), machine.num_hosts, devices, machine.capability
    )


def card_text(chip: Chip) -> str:
    """A GPU as XLA's compiler reads it, in the text form of its GpuTargetConfigProto."""
    card = chip.card
    assert isinstance(card, Card)
    block = 65_536  # registers, of a block and of a core
    described = {
        "threads_per_block_limit": 1024,
        "threads_per_warp": 32,
        "shared_memory_per_block": 48 * 2**10,
        "shared_memory_per_core": card.shared_memory,
        "shared_memory_per_block_optin": card.shared_memory - 2**10,
        "threads_per_core_limit": card.threads,
        "core_count": card.num_cores,
        "fpus_per_core": card.units_per_core,
        "block_dim_limit_x": 2**31 - 1,
        "block_dim_limit_y": 2**16 - 1,
        "block_dim_limit_z": 2**16 - 1,
        "thread_dim_limit_x": 1024,
        "thread_dim_limit_y": 1024,
        "thread_dim_limit_z": 64,
        "registers_per_core_limit": block,
        "registers_per_block_limit": block,
        "memory_bandwidth": int(chip.bandwidth),
        "device_memory_size": int(chip.memory),
        "l2_cache_size": card.level2_cache,
        "clock_rate_ghz": card.clock / 1e9,
        "runtime_version": '"12.8.0"',
        "driver_version": '"12.8.0"',
    }
    fields = " ".join(f"{name}: {value}" for name, value in described.items())
    major, _, minor = card.compute_capability.partition(".")
    capability = f"cuda_compute_capability {{ major: {major} minor: {minor} }}"
    return (
        f'gpu_device_info {{ {fields} {capability} }} platform_name: "CUDA" '
        f'dnn_version_info {{ major: 9 minor: 10 }} device_description_str: "{card.name}"'
    )


def facts(lowered: jax.stages.Lowered, num_updates: int = 1) -> dict[str, Any]:
    """A compiler's facts of a program, for one device; bytes, and operations of one update.

    Args:
        lowered: the program.
        num_updates: turns of its loop over updates.

    Returns:
        ``{"needed": bytes}`` for a program that the compiler refuses for lack of memory.
    """
    try:
        compiled = lowered.compile()
    except jax.errors.JaxRuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return {"needed": _needed(str(error))}
    cost, text = compiled.cost_analysis() or {}, CompiledText(compiled.as_text() or "")
    return {
        **memory_facts(compiled),
        "operations": cost.get("flops"),
        "bytes": cost.get("bytes accessed"),
        "cycles": text.cycles() / num_updates,
        "messages": [
            [m.kind, m.num_bytes, m.times / num_updates if m.looped else m.times, m.looped]
            for m in text.messages()
        ],
        "host_transfers": text.host_transfers(),
        "products": text.products(),
        "exponential_types": text.exponential_types(),
        "largest": max(size for _, size in arrays_of(text.largest().shape)),
    }


def memory_facts(compiled: jax.stages.Compiled) -> dict[str, int]:
    """Bytes of a compiled program on one device."""
    memory = compiled.memory_analysis()
    assert memory is not None  # as only on platforms of others
    return {
        "arguments": memory.argument_size_in_bytes,
        "outputs": memory.output_size_in_bytes,
        "aliased": memory.alias_size_in_bytes,
        "temporaries": memory.temp_size_in_bytes,
        "code": memory.generated_code_size_in_bytes,
    }


def _needed(message: str) -> float:
    """Bytes a refused program would take, from the compiler's message; infinite if it is silent."""
    used = re.search(r"(?:[Uu]sed |\()([\d.]+)([KMGT]?)i?B?(?: of|\) exceeds)", message)
    return float(used[1]) * _UNITS[used[2]] if used else math.inf


def compile_program(
    shapes: Shapes, machine: Machine, program: str, num_updates: int
) -> dict[str, Any]:
    """The facts of a program with as many runs at once as fit, chosen as ``Runs.fitting`` does.

    Returns:
        ``facts``, beside ``at_once``, the number of runs a device computes at once, ``of_all``, the
        bytes that all of its runs at once would need, and ``state``, the bytes of their state.
    """
    runs, turns = runs_of(shapes.spec), num_updates if program == "updates" else 1
    here, room = runs.layout.share(runs.num_runs), USABLE * machine.chip.memory
    size = runs.at_once or (1 if runs.axis == "map" else here)
    tried = facts(lowered(shapes, program, num_updates, size), turns)
    of_all = bytes_needed(tried)
    while not runs.at_once and size > 1 and bytes_needed(tried) > room:
        size = -(-size // 2)
        tried = facts(lowered(shapes, program, num_updates, size), turns)
    state = num_bytes(shapes.state) * runs.layout.share_of_state
    return {**tried, "at_once": size, "of_all": of_all, "state": state}


def without_cudnn(config: dict[str, Any], machine: Machine) -> tuple[dict[str, Any], str]:
    """The config that can be compiled here, and what was replaced in it, if anything.

    XLA asks the library itself for cuDNN's attention, which the compilers come without. Plain
    attention stands in for it where a config leaves the choice open and the machine would have it.
    """
    if machine.chip.platform != "gpu" or _is_here("nvidia.cudnn"):
        return config, ""
    model = build.parse(build.Config(config)).model.config
    is_open = isinstance(model, TransformerConfig) and model.attention_impl != "cudnn"
    if not is_open or attention_choice(model, "gpu", machine.capability).impl != "cudnn":
        return config, ""
    replaced = "plain attention, since cuDNN is not installed here: with cuDNN's, less memory"
    return {**config, "model": {**config["model"], "attention_impl": "xla"}}, replaced


def _is_here(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # nor is the package around it
        return False


def main(asked: Path, answer: Path) -> None:
    """Read the request, compile, write the facts."""
    request = json.loads(asked.read_text())
    machine = machine_of(request["machine"])
    with compiling_for(target_of(machine)):
        config, replaced = without_cudnn(request["config"], machine)
        settings = build.parse(build.Config(config))
        shapes, num_updates = shapes_of(build.spec_of(settings)), settings.train.log_every
        found = {
            program: compile_program(shapes, machine, program, num_updates) | {"stand_in": replaced}
            for program in request["programs"]
        }
    answer.write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
