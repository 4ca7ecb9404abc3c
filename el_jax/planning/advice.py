"""Config changes that make a training fit into memory."""

import math
from collections.abc import Iterator

from el_jax.config.training import Settings
from el_jax.planning.forecast import Memory
from el_jax.planning.machines import Machine
from el_jax.planning.programs import Shapes
from el_jax.planning.units import quantity
from el_jax.training.memory import USABLE
from el_jax.training.objectives.heads import LogitHead


def advice(memory: Memory, settings: Settings, shapes: Shapes, machine: Machine) -> Iterator[str]:
    """Changes that make a training fit, or come closer, one per line; none if it fits.

    Only changes that the config does not have yet and that the machine and the model allow.

    Args:
        memory: memory of one device.
        settings: the training's settings, parsed for the machine.
        shapes: its shapes.
        machine: the machine.
    """
    if memory.fits:
        return
    spec, model = shapes.spec, settings.model_config
    head, layout = spec.objective.head, spec.layout
    if memory.runs_at_once > 1:
        yield "--config.train.max_runs_at_once=1: runs in groups, one after the other"
    if getattr(model, "dtype", "") == "float32":
        yield "--config.model.dtype=bfloat16: activations take half of the bytes"
    if isinstance(head, LogitHead) and head.model.readout is not None:
        yield "--config.loss.path=chunked: the logits of all classes are never in memory"
    if getattr(model, "remat_layers", True) is False:
        yield "--config.model.remat_layers=True: activations of one layer at a time"
    num, windows = machine.num_devices, shapes.batch.tokens.shape[0]
    if num > 1 and windows % num == 0 and settings.adversary is None:  # see checks.layout_of
        if layout.num_devices < num:
            yield f"--config.train.shard=data: divide the windows over {num} devices"
        if not layout.fsdp:
            by_jit = " --config.parallel=jit" if layout.method == "pmap" else ""
            yield f"--config.train.shard=fsdp{by_jit}: a part of each parameter on {num} devices"
    if math.isfinite(memory.needed):
        yield f"a device with more than {quantity(memory.needed / USABLE, 'B')}"
