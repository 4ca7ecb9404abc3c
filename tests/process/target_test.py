"""Programs are chosen and compiled for a target."""

import jax
import jax.numpy as jnp
import pytest

from el_jax.process import target
from el_jax.process.target import Target, compiling_for
from el_jax.training.layout import Layout, choose_layout


def test_this_machine_is_the_target_unless_another_one_is_named():
    here = target.platform(), target.num_devices(), target.num_processes(), target.devices()
    assert here == ("cpu", jax.device_count(), 1, jax.devices())
    with compiling_for(Target("tpu", 16, 4)):
        assert (target.platform(), target.num_devices(), target.num_processes()) == ("tpu", 16, 4)
        assert choose_layout("jit", "auto", num_runs=32, num_windows=8).num_devices == 16
        with compiling_for(Target("gpu", 1)):
            assert target.platform() == "gpu"
        assert target.platform() == "tpu"
    assert target.devices() == jax.devices()


def test_processes_of_the_target_limit_its_layouts():
    with (
        compiling_for(Target("gpu", 16, 2)),
        pytest.raises(ValueError, match="must be 'jit' on 2 processes"),
    ):
        choose_layout("pmap", "auto", num_runs=16, num_windows=8)


def test_a_program_is_lowered_from_shapes_for_the_last_device():
    last = jax.devices()[-1]
    with compiling_for(Target("cpu", 1, devices=(last,))):
        doubled = Layout().compile(lambda x: 2 * x, ("shared",), "shared")
        lowered = doubled.lower(jax.ShapeDtypeStruct((3,), jnp.float32))
    (sharding,) = jax.tree.leaves(lowered.compile().input_shardings)
    assert sharding.device_set == {last}
