"""Detection of silent corruption: some updates are computed twice and compared bit by bit.

A flipped bit in memory or a faulty core leaves numbers that look like any others. A second
computation, from a copy of the state, by the same program on the same devices, gives other bits.
On CPUs and TPUs a sound machine always gives the same bits; on NVIDIA GPUs it does if XLA_FLAGS has
--xla_gpu_deterministic_ops=true.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.runtime.errors import REPLAY, UserError
from el_jax.training.program import Program
from el_jax.training.state import Health, TrainState
from el_jax.training.step import Metrics

Dispatch = tuple[TrainState, Metrics, Health]  # the result of ``Program.advance``


class ReplayError(UserError, RuntimeError):
    """The same updates gave other bits the second time; earlier checkpoints are intact.

    Attributes:
        step: updates made before those that differ.
        run: index of the first run that differs.
    """

    exit_code = REPLAY

    def __init__(self, message: str, step: int, run: int) -> None:
        super().__init__(message, step, run)  # all arguments: unpickling needs them
        self.step, self.run = step, run

    def __str__(self) -> str:
        return self.args[0]


class _Found(NamedTuple):
    """The first array with a run that differs."""

    name: str
    run: int


def advance_twice(program: Program, state: TrainState, num_updates: int) -> Dispatch:
    """``program.advance``, computed twice and compared.

    This needs memory for two more states and twice the time, and it waits for the devices.

    Args:
        program: the compiled functions.
        state: the state to start from; donated.
        num_updates: number of updates.

    Returns:
        The result of the first computation.

    Raises:
        ReplayError: names the updates, the run and the first array that differs.
    """
    kept = jax.tree.map(jnp.copy, state)  # since the first computation donates the state
    first = program.advance(state, num_updates)
    found = _first_difference(program, first, program.advance(kept, num_updates))
    if found is None:
        return first
    step = int(first[0].step) - num_updates
    seed = int(program.layout.fetch(program.hypers.seed)[found.run])
    message = (
        f"updates {step} to {step + num_updates - 1}, made twice, differ in run {found.run} "
        f"(seed {seed}, {found.name}): memory or a processor is faulty, or a kernel not "
        "deterministic; nothing of them is saved"
    )
    raise ReplayError(message, step, found.run)


def _first_difference(program: Program, first: Dispatch, second: Dispatch) -> _Found | None:
    parts = [_by_run(dispatch) for dispatch in (first, second)]
    differ = program.layout.fetch(jax.tree.map(_differing_runs, *parts))
    for path, runs in jax.tree_util.tree_flatten_with_path(differ)[0]:
        if runs.any():
            name = jax.tree_util.keystr(path, simple=True, separator="/")
            return _Found(name, int(runs.argmax()))
    return None


def _by_run(dispatch: Dispatch) -> dict[str, Any]:
    """The arrays of a dispatch, each with a leading axis, as a tree whose paths name them."""
    state, metrics, _ = dispatch
    return {**state._asdict(), "metrics": metrics} | {"step": state.step[None]}


@jax.jit
def _differing_runs(first: Array, second: Array) -> Array:
    """Runs in which a bit differs, ``[R]``; two NaNs are the same if their bits are."""
    bits = jnp.dtype(f"uint{8 * first.dtype.itemsize}")
    a, b = (
        x if x.dtype == jnp.bool else jax.lax.bitcast_convert_type(x, bits) for x in (first, second)
    )
    return (a != b).reshape(a.shape[0], -1).any(1)
