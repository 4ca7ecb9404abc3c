"""Machines by name, and the roofline of their numbers."""

import math

import pytest

from el_jax.planning.forecast import roofline
from el_jax.planning.machines import CHIPS, MACHINES, machine_of
from el_jax.runtime.errors import ConfigError


def test_every_machine_has_a_source_and_a_topology_of_its_devices():
    assert {
        "tpu-v5e-4",
        "tpu-v6e-256",
        "tpu-v5e-2x16",
        "t4-1",
        "a100-40-1",
        "h100-2x8",
        "b200-8",
    } <= MACHINES.keys()
    for machine in MACHINES.values():
        assert machine.chip.source.startswith("https://")
        sides = machine.topology.partition(":")[2] or machine.topology
        devices = machine.num_slices * math.prod(int(side) for side in sides.split("x"))
        assert devices == (
            4 if machine.name.endswith("-1") and ":" in machine.topology else machine.num_devices
        )


@pytest.mark.parametrize(
    ("name", "hint"),
    [("tpu-v5-4", "did you mean 'tpu-v5"), ("h100", "did you mean 'h100-"), ("zz", "")],
)
def test_an_unknown_machine_lists_the_known_ones(name, hint):
    with pytest.raises(ConfigError) as raised:
        machine_of(name)
    said = str(raised.value)
    assert said.startswith(f"--machine={name!r}: must be ")
    assert hint in said
    assert all(kind in said for kind in ("cpu", "2x16", *CHIPS))
    assert ("did you mean" in said) == bool(hint)


def test_the_slowest_of_computing_reading_and_sending_decides():
    one = machine_of("tpu-v5e-1")
    second = {"bfloat16": one.chip.bfloat16}
    assert roofline(one, second, 1.0, 0.0) == 1.0
    assert roofline(one, {"float32_highest": one.chip.bfloat16}, 1.0, 0.0) == pytest.approx(6)
    assert roofline(one, second, 3 * one.chip.bandwidth, 0.0) == pytest.approx(3)
    assert roofline(one, second, 1.0, 5 * one.chip.link) == pytest.approx(5)


def test_messages_between_hosts_and_slices_take_the_network():
    apart, together = machine_of("h100-2x8"), machine_of("h100-8")
    # the eight cards of a host share what crosses between hosts
    assert apart.link == 8 * apart.chip.network < together.link == apart.chip.link
    slices = machine_of("tpu-v5e-2x16")
    assert (slices.num_devices, slices.num_slices, slices.num_hosts) == (32, 2, 8)
    assert slices.link == slices.chip.link
    assert roofline(slices, {}, 1.0, 1.0, 2 * slices.chip.network) == pytest.approx(2)
    assert 256 * slices.chip.network == 6.4e12 / 8  # of a pod of 256 chips, by its page


def test_the_machine_at_hand_is_measured():
    found = machine_of("cpu")
    assert (found.num_devices, found.compiles, found.capability) == (1, True, "")
    chip = found.chip
    assert 1e8 < chip.float32 < 1e14
    assert 1e8 < chip.bandwidth < 1e13
    assert 2**26 < chip.memory < 2**44
    assert chip.source.startswith("measured here")
    assert machine_of("cpu") == found  # once in a process
