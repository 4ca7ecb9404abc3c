"""A probe of one run, made one of all runs: at once, one by one, or outside jax."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.types import Params, Probe


def over_runs(
    of_run: Callable[..., dict[str, Array]], *shared: Any, one_by_one: bool = False
) -> Probe:
    """The probe that calls ``of_run(params, *shared)`` for every run, compiled.

    ``one_by_one`` takes the memory of one run instead of all.
    """

    @jax.jit
    def compiled(params: Params, *shared: Any) -> dict[str, Array]:
        if one_by_one:
            return jax.lax.map(lambda one: of_run(one, *shared), params)
        return jax.vmap(lambda one: of_run(one, *shared))(params)

    return Probe(of_params=lambda params: compiled(params, *shared))


def over_runs_on_host(of_run: Callable[[Params], dict[str, float]]) -> Probe:
    """The probe that calls ``of_run(params)`` for every run, not compiled."""

    def of_params(params: Params) -> dict[str, Array]:
        num_runs = jax.tree.leaves(params)[0].shape[0]
        runs = [of_run(jax.tree.map(lambda leaf, i=i: leaf[i], params)) for i in range(num_runs)]
        return {name: jnp.asarray([run[name] for run in runs]) for name in runs[0]}

    return Probe(of_params)
