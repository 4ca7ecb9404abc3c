"""float64 is computed where the devices have it."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.process import double_precision
from el_jax.process.double_precision import float64


def device_of(array):
    (device,) = array.devices()
    return device


@pytest.fixture
def second_device():
    """Computes on the second device of the tests, as on an accelerator."""
    with jax.default_device(jax.devices()[1]):
        yield jax.devices()[1]


def test_a_block_computes_in_float64_on_the_default_device(second_device):
    with float64():
        inside = jnp.ones(3) / 3
    assert inside.dtype == np.float64
    assert device_of(inside) == second_device
    assert (jnp.ones(3) / 3).dtype == np.float32


def test_on_a_tpu_it_computes_on_the_cpu_and_says_so_once(second_device, monkeypatch, caplog):
    monkeypatch.setattr(jax, "default_backend", lambda: "tpu")
    double_precision._tell.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            with float64():
                inside = jnp.ones(3) / 3
    assert inside.dtype == np.float64
    assert device_of(inside) == jax.devices("cpu")[0] != second_device
    assert device_of(jnp.ones(3)) == second_device
    assert caplog.messages == ["float64 is computed on the CPU: a TPU has none"]
