"""A probe of one run, computed for all runs at once."""

from collections.abc import Callable
from typing import Any

import jax
from jax import Array

from el_jax.types import Probe


def over_runs(of_run: Callable[..., dict[str, Array]], *shared: Any) -> Probe:
    """The probe that calls ``of_run(params, *shared)`` for every run, compiled."""
    compiled = jax.jit(jax.vmap(of_run, in_axes=(0, *(None for _ in shared))))
    return Probe(of_params=lambda params: compiled(params, *shared))
