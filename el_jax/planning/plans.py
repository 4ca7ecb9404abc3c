"""Make a forecast from a config and a machine."""

import json

from el_jax import build
from el_jax.planning.compilers import CompilerError, NoCompilerError, compile_elsewhere
from el_jax.planning.forecast import Forecast, forecast
from el_jax.planning.machines import Machine
from el_jax.planning.programs import products_of_block, products_of_update, shapes_of
from el_jax.process.target import Target, compiling_for


def plan(
    config: build.Config, machine: Machine, *, compiled: bool = True, install: bool = True
) -> Forecast:
    """Forecast a training on a machine.

    Args:
        config: the training's config.
        machine: the machine.
        compiled: True to use its compiler.
        install: True if the compilers may be installed.

    Raises:
        ConfigError: the config is refused, on this machine or on any.
    """
    with compiling_for(Target(machine.chip.platform, machine.num_devices, machine.num_hosts)):
        settings = build.parse(config)
        if settings.model.fields.get("attention_impl") == "cudnn":  # which is not here
            config = config.copy_and_resolve_references()
            config.model.attention_impl = "xla"
            settings = build.parse(config)
        shapes = shapes_of(build.make_spec(settings))
        update, block = products_of_update(shapes), products_of_block(shapes)
    facts, reason = None, ""
    if not compiled:
        reason = "not asked, by --compile=no"
    else:
        resolved = json.loads(config.to_json_best_effort())
        try:
            facts = compile_elsewhere(resolved, machine, install=install)
        except (NoCompilerError, CompilerError) as error:
            reason = str(error)
    return forecast(settings, shapes, machine, update, block, facts, reason)
