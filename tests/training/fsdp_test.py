"""Sharded parameters: each device keeps a part, and the training equals that of one device."""

import math

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from el_jax.checkpoint import Checkpoints
from el_jax.planning.compile_worker import compile_updates
from el_jax.planning.programs import shapes_of
from el_jax.training.layout import Layout
from el_jax.training.memory import least_bytes
from el_jax.training.program import make_program
from tests.training.layouts import flat, spec_with, trained

IN_PARTS = Layout(data=2, fsdp=True)
TOLERANCE = 1e-5  # of parameters and the optimizer's numbers, after twenty updates of Adam
# the bias of keys has gradient 0: with a smaller epsilon, Adam turns its rounding into steps
EPSILON = 1e-6


def assert_placed(program, state):
    for leaf in jax.tree.leaves(state):
        shape = jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
        assert leaf.sharding.is_equivalent_to(program.layout.place_of_state(shape), leaf.ndim)


@pytest.mark.parametrize(
    ("of_run", "expected"),
    [
        ((6, 4), ("data",)),
        ((4, 6), (None, "data")),
        ((3, 5, 2), (None, None, "data")),
        ((4, 4), ("data",)),
        ((3, 5), ()),
        ((), ()),
    ],
)
def test_the_longest_axis_that_the_devices_divide_is_split(of_run, expected):
    assert IN_PARTS.sharding("runs", (3, *of_run)).spec == PartitionSpec("runs", *expected)


@pytest.mark.parametrize(
    "model", [{}, {"num_layers": 3, "remat_layers": True, "scan_layers": True}], ids=["", "in_loop"]
)
def test_two_devices_are_one(model):
    (one, row_of_one), (two, row) = (
        trained(layout, updates=20, epsilon=EPSILON, **model) for layout in (Layout(), IN_PARTS)
    )
    assert two.step == one.step == 20
    np.testing.assert_allclose(flat(two), flat(one), rtol=0, atol=TOLERANCE)
    assert row.keys() == row_of_one.keys()
    for name, values in row.items():
        np.testing.assert_allclose(values, row_of_one[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_each_device_keeps_its_part_and_the_state_before_is_given_up():
    program = make_program(spec_with(IN_PARTS))
    before = program.init()
    for leaf in jax.tree.leaves((before.params, before.opt_state)):
        of_run = leaf.shape[1:]
        parts = 2 if any(side % 2 == 0 for side in of_run) else 1
        assert leaf.addressable_shards[0].data.size * parts == math.prod(leaf.shape)
    after, _, _ = program.advance(before, 10)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(before.params))
    assert_placed(program, after)


def test_layers_in_a_loop_are_gathered_in_it():
    model = {"num_layers": 3, "remat_layers": True, "scan_layers": True}
    spec = spec_with(IN_PARTS, seeds=1, **model)
    facts = compile_updates(shapes_of(spec), 10)
    layer = jax.tree.leaves(shapes_of(spec).state.params["layers_0"])
    whole = 4 * sum(math.prod(leaf.shape) for leaf in layer)
    at_once = [size for kind, size, *_ in facts["messages"] if kind == "all-gather"]
    assert max(at_once) < 2 * whole  # one layer at a time, not the stacked ones


def test_checkpoints_are_restored_in_parts_or_whole(tmp_path):
    programs = {
        name: make_program(spec_with(layout, epsilon=EPSILON))
        for name, layout in {"whole": Layout(), "parts": IN_PARTS}.items()
    }
    for name, program in programs.items():
        state, _, _ = program.advance(program.init(), 10)
        with Checkpoints(tmp_path / name) as checkpoints:
            checkpoints.save(state)
    for saved, other in (("whole", "parts"), ("parts", "whole")):
        program = programs[other]
        with Checkpoints(tmp_path / saved) as checkpoints:
            state = checkpoints.restore(program.init, program.layout.place_of_state)
        assert state.step == 10
        assert_placed(program, state)
        expected, _, _ = programs[saved].advance(
            jax.tree.map(lambda leaf: np.asarray(jax.device_get(leaf)), state), 10
        )
        after, _, _ = program.advance(state, 10)
        np.testing.assert_allclose(flat(after), flat(expected), rtol=0, atol=TOLERANCE)


def test_the_least_memory_counts_a_part():
    shapes = shapes_of(spec_with(Layout()))
    whole, parts = (
        least_bytes(layout, shapes.state, shapes.data) for layout in (Layout(), IN_PARTS)
    )
    for name in ("parameters and optimizer state", "gradients"):
        assert parts[name] == whole[name] / 2
