"""A training on many devices equals the training on one: same data, same numbers."""

import dataclasses
import functools
import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import optax
import pytest

from el_jax import build
from el_jax.process.errors import ConfigError
from el_jax.training.layout import Layout, choose_layout
from el_jax.training.optimizers import OptimizerConfig
from el_jax.training.program import make_program
from tests.training.layouts import UPDATES, flat, spec_with, trained
from tests.training.poisoning import poisoned
from tests.training.small_training import built, small_config

ROOT = pathlib.Path(__file__).parents[2]
TOLERANCE = 1e-5  # of parameters and optimizer state, after ten updates of Adam


def on(monkeypatch, devices, processes=1):
    monkeypatch.setattr(jax, "device_count", lambda: devices)
    monkeypatch.setattr(jax, "process_count", lambda: processes)


@pytest.mark.parametrize(
    ("shard", "runs", "devices", "expected"),
    [
        ("auto", 8, 1, (1, 1)),
        ("auto", 8, 4, (4, 1)),
        ("auto", 6, 4, (2, 2)),
        ("auto", 5, 4, (1, 4)),
        ("auto", 5, 3, (1, 1)),
        ("auto", 4, 12, (1, 1)),  # three devices a run do not divide 8 windows
        ("runs", 8, 4, (4, 1)),
        ("data", 8, 4, (1, 4)),
        ("data", 8, 1, (1, 1)),
        ("fsdp", 3, 4, (1, 4)),
        ("fsdp", 8, 1, (1, 1)),
        ("none", 8, 4, (1, 1)),
    ],
)
def test_what_is_split(monkeypatch, shard, runs, devices, expected):
    on(monkeypatch, devices)
    layout = choose_layout("jit", shard, runs, 8)
    assert (layout.runs, layout.data) == expected
    assert layout.fsdp == (shard == "fsdp" and devices > 1)


def test_pmap_divides_along_one_axis(monkeypatch):
    on(monkeypatch, 4)
    layout = choose_layout("pmap", "auto", 6, 8)
    assert (layout.runs, layout.data) == (1, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shard": "runs", "seeds": 3}, r"train.shard='runs': .* with 3 runs on 4 devices"),
        ({"shard": "data", "devices": 3}, r"train.shard='data': .* 8 windows .* on 3 devices"),
        ({"shard": "fsdp", "devices": 3}, r"train.shard='fsdp': .* 8 windows .* on 3 devices"),
        ({"shard": "fsdp", "parallel": "pmap"}, "'pmap': must be 'jit' with train.shard='fsdp'"),
        ({"parallel": "pmap", "processes": 2}, "config.parallel='pmap': must be 'jit' on 2"),
        ({"shard": "none", "processes": 2}, "train.shard='none': .* 2 processes"),
        (
            {"shard": "runs", "seeds": 3, "processes": 2},  # none would be refused in turn
            "train.shard='runs': must be auto with 3 runs on 4 devices",
        ),
        (
            {"arg": "loss=e1,smoke,weighting=group_dro", "processes": 2},
            "train.shard='auto': must be 'runs' .the devices divide the runs. with config.w",
        ),
    ],
)
def test_what_cannot_be_split_is_named(monkeypatch, changes, message):
    given = {"shard": "auto", **changes}
    on(monkeypatch, given.pop("devices", 4), given.pop("processes", 1))
    parallel = given.pop("parallel", "jit")
    config = small_config(**given)
    config.parallel = parallel
    with pytest.raises(ConfigError, match=message):
        build.checked(build.parse(config))


@pytest.fixture(scope="module")
def on_one():
    return trained(Layout())


RUNS, DATA = {"runs": 2}, {"data": 2}
SPLITS = [
    RUNS,
    DATA,
    {**DATA, "method": "pmap"},
    pytest.param({**RUNS, "method": "pmap"}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_two_devices_are_one(on_one, split):
    state, row = trained(Layout(**split))
    assert state.step == on_one[0].step
    np.testing.assert_allclose(flat(state), flat(on_one[0]), rtol=0, atol=TOLERANCE)
    assert row.keys() == on_one[1].keys()
    for name, values in row.items():
        np.testing.assert_allclose(values, on_one[1][name], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_the_state_before_is_given_up(split):
    program = make_program(spec_with(Layout(**split)))
    before = program.init()
    program.advance(before, UPDATES)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(before))


@functools.cache
def diagonals(layout):
    """Sophia's diagonal of the Hessian after its first estimate."""
    sophia = OptimizerConfig("sophia", numbers={"b2": 0.0})
    program = make_program(dataclasses.replace(spec_with(layout, seeds=1), optimizer=sophia))
    state, _, _ = program.advance(program.init(), 1)
    found = jax.tree.leaves(optax.tree.get(state.opt_state, "nu"))
    return np.concatenate([np.asarray(leaf).ravel() for leaf in found])


@pytest.mark.parametrize("how", [{}, {"method": "pmap"}, {"fsdp": True}], ids=str)
def test_second_derivatives_of_two_devices_are_those_of_one(how):
    one, two = (diagonals(layout) for layout in (Layout(), Layout(data=2, **how)))
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-4 * abs(one).max())


@pytest.mark.parametrize("shard", ["data", "fsdp"])
def test_what_one_device_finds_not_finite_stops_the_run_on_all(shard):
    config = small_config(seeds=2, shard=shard, on_non_finite="stop")
    program = poisoned(built(config), 1, [7], "loss", group=1).program
    assert (program.layout.shard, program.layout.num_devices) == (shard, 2)
    state, _, health = program.advance(program.init(), 10)
    assert health.stopped_at.tolist() == [-1, 7]
    for leaf in jax.tree.leaves(state.params):
        assert np.isfinite(leaf).all()
        if shard == "data":
            first, second = leaf.addressable_shards
            np.testing.assert_array_equal(first.data, second.data)  # still the same everywhere


def run_layouts(out, devices, names):
    command = [sys.executable, "-m", "tests.training.layouts"]
    command += [str(devices), str(out), *names]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return np.load(out)


@pytest.mark.slow
def test_four_devices_train_each_run_as_one_does(tmp_path):
    layouts = "1,1,jit 4,1,jit 4,1,pmap 1,4,jit 1,4,pmap 1,4,fsdp 2,2,jit 2,2,fsdp"
    alone, *others = (f"{layout},map" for layout in layouts.split())
    found = run_layouts(tmp_path / "found.npz", 4, [alone, *others])
    for name in others[:2]:  # nothing is summed over devices
        np.testing.assert_array_equal(found[name], found[alone], err_msg=name)
    for name in others[2:]:
        np.testing.assert_allclose(found[name], found[alone], rtol=0, atol=TOLERANCE, err_msg=name)
