"""Train the small training under every requested layout, and save the states.

    python -m tests.training.layouts NUM_DEVICES OUT.npz NAME...

NAME is RUNS,DATA,METHOD,AXIS such as 1,4,pmap,map. RUNS and DATA are numbers of devices, and METHOD
is jit, pmap or fsdp. In OUT.npz an array NAME has the final parameters and optimizer state of all
runs, one row each.
"""

import dataclasses
import sys

import jax
import numpy as np

from el_jax import build
from el_jax.training.layout import Layout
from el_jax.training.metrics import summarise
from el_jax.training.objectives.in_parts import InParts
from el_jax.training.program import make_program
from tests.training.small_training import small_config

UPDATES = 10


def spec_with(layout, run_axis="vmap", dropout=0.0, seeds=4, epsilon=1e-8, **model):
    config = small_config(seeds=seeds, run_axis=run_axis, shard="none")
    config.model.update(residual_dropout=dropout, **model)
    config.optim.epsilon = epsilon
    spec = build.make_spec(build.parse(config))
    objective = spec.objective
    if layout.data > 1 and isinstance(objective, InParts):
        objective = objective.base
    return dataclasses.replace(spec, objective=objective, layout=layout)


def trained(layout, updates=UPDATES, **changes):
    """State after some updates, with the rows of the updates' metrics and of an evaluation."""
    spec = spec_with(layout, **changes)
    program = make_program(spec)
    state, batch, health = program.advance(program.init(), updates)
    test = program.evaluate(state.params, spec.task.pack(spec.task.test_set(16)))
    state, batch, test, health = layout.fetch((state, batch, test, health))
    assert (health.stopped_at == -1).all()
    names = spec.task.group_names
    return state, summarise(batch, names, "batch") | summarise(test, names, "test")


def flat(state):
    """Parameters and optimizer state of each run in one row, ``[R, numbers]``."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves((state.params, state.opt_state))]
    return np.concatenate([leaf.reshape(leaf.shape[0], -1) for leaf in leaves], axis=1)


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
    found = {}
    for name in sys.argv[3:]:
        runs, data, method, axis = name.split(",")
        how = {"fsdp": True} if method == "fsdp" else {"method": method}
        layout = Layout(int(runs), int(data), **how)
        state, _ = trained(layout, run_axis=axis)
        found[name] = flat(state)
    np.savez(sys.argv[2], **found)
