"""Train the small training under every requested layout, and save the parameters.

    python -m tests.training.layouts NUM_DEVICES OUT.npz NAME...

NAME is SHARD,METHOD,DEVICES,GROUPS[,AXIS] such as data,pmap,4,0 or runs,jit,4,0,map. In OUT.npz an
array NAME has the parameters of all runs after ten updates with dropout, one row each.
"""

import dataclasses
import sys

import jax
import numpy as np

from el_jax import build
from el_jax.training.devices.layout import Layout
from el_jax.training.metrics import summarise
from tests.training.small_training import small_config

UPDATES = 10


def settings_with(layout, run_axis="vmap", dropout=0.0, seeds=4):
    config = small_config(seeds=seeds, run_axis=run_axis, shard="none")
    config.model.residual_dropout = dropout
    return dataclasses.replace(build.parse(config), layout=layout)


def trained(layout, **changes):
    """State after ten updates, with the rows of the updates' metrics and of an evaluation."""
    training = build.build(settings_with(layout, **changes))
    program = training.program
    state, batch, health = program.advance(program.init(), UPDATES)
    test = program.evaluate(state.params, training.evaluations["test"])
    state, batch, test, health = layout.fetch((state, batch, test, health))
    assert (health.stopped_at == -1).all()
    names = training.spec.task.group_names
    return state, summarise(batch, names, "batch") | summarise(test, names, "test")


def flat(state):
    """Parameters and optimizer state of each run in one row, ``[R, numbers]``."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves((state.params, state.opt_state))]
    return np.concatenate([leaf.reshape(leaf.shape[0], -1) for leaf in leaves], axis=1)


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
    found = {}
    for name in sys.argv[3:]:
        shard, method, devices, groups, *axis = name.split(",")
        layout = Layout(shard, method, int(devices), int(groups))
        dropout = 0.1 if layout.reduce_groups else 0.0
        state, _ = trained(layout, dropout=dropout, run_axis=axis[0] if axis else "vmap")
        found[name] = flat(state)
    np.savez(sys.argv[2], **found)
