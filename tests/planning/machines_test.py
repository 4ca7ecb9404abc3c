"""Machines by name, and the roofline of their numbers."""

import math

import pytest

from el_jax.planning.forecast import roofline
from el_jax.planning.machines import MACHINES, machine_of
from el_jax.process.errors import ConfigError


def test_every_machine_has_a_source_and_a_topology_of_its_devices():
    assert {"tpu-v5e-4", "tpu-v6e-256", "t4-1", "a100-40-1", "h100-2x8", "b200-8"} <= set(MACHINES)
    for machine in MACHINES.values():
        assert machine.chip.source.startswith("https://")
        sides = machine.topology.partition(":")[2] or machine.topology
        devices = math.prod(int(side) for side in sides.split("x"))
        alone = machine.name.endswith("-1") and ":" in machine.topology  # one chip of four
        assert devices == (4 if alone else machine.num_devices)


def test_an_unknown_machine_lists_the_known_ones():
    with pytest.raises(ConfigError, match="did you mean 'h100-") as raised:
        machine_of("h100")
    assert str(raised.value).startswith(f"--machine='h100': must be one of {', '.join(MACHINES)}")


def test_the_slowest_of_computing_reading_and_sending_decides():
    one = machine_of("tpu-v5e-1")  # 197 Top/s, 819 GB/s, 200 GB/s to its neighbours
    assert roofline(one, {"bfloat16": 197e12}, 819e9, 0.0) == 1.0
    assert roofline(one, {"float32_highest": 197e12}, 1.0, 0.0) == pytest.approx(6, rel=1e-5)
    assert roofline(one, {"bfloat16": 197e12}, 3 * 819e9, 0.0) == pytest.approx(3)
    assert roofline(one, {"bfloat16": 197e12}, 1.0, 5 * 200e9) == pytest.approx(5)
    assert roofline(machine_of("h100-1"), {"float32": 494e12, "bfloat16": 989e12}, 1.0, 0.0) == 2


def test_messages_between_hosts_take_their_network():
    # the eight cards of a host share what crosses between hosts
    assert machine_of("h100-2x8").link == 8 * 50e9 < machine_of("h100-8").link == 450e9
