"""State of a training between updates, for all its runs together."""

from typing import Any, NamedTuple

import jax
from jax import Array
from jaxtyping import Float, Int, UInt32

from el_jax.types import Params


class Health(NamedTuple):
    """Each run's record of its end before that of the training; a stopped run no longer changes.

    Attributes:
        stopped_at: number of updates that it has made; -1 while it continues, ``[R]``.
        bad_part: the first non-finite part of the update that stopped it, which is never applied,
            an index into ``BAD_PARTS``; -1 for none, ``[R]``.
    """

    stopped_at: Int[Array, "*R"]
    bad_part: Int[Array, "*R"]


# in order of computation: the first that is not finite contaminates the later ones
BAD_PARTS = ("loss", "gradient", "parameter update")


class Run(NamedTuple):
    """State of one run between updates; of all runs, if leaves have a leading axis ``R``."""

    params: Params
    opt_state: Params
    health: Health
    memory: Any = ()


class TrainState(NamedTuple):
    """Parameters and optimizer states of R runs, and their common number of updates.

    Attributes:
        step: updates made so far, scalar; a stopped run no longer changes.
        params: every leaf has a leading run axis ``[R, ...]``.
        opt_state: optax state, every leaf with the same leading axis.
        health: record of stopped runs.
        memory: what the objective remembers, see ``Objective.loss``; () if it is nothing.
    """

    step: Int[Array, ""]
    params: Params
    opt_state: Params
    health: Health
    memory: Any = ()

    @property
    def runs(self) -> Run:
        """The state without the step."""
        return Run(self.params, self.opt_state, self.health, self.memory)


class Hypers(NamedTuple):
    """Numbers that differ between the runs of a training; traced, so that a sweep compiles once.

    Attributes:
        seed: seed of the initialisation, of the order of the data and of dropout, ``[R]``.
        loss: numbers of the token loss (``lam``, ``b`` ...), each ``[R]``.
        optimizer: numbers of the optimizer and its schedule: ``peak_lr``, ``warmup_steps`` and
            the swept ones, each ``[R]``.
    """

    seed: UInt32[Array, "*R"]
    loss: dict[str, Float[Array, "*R"]]
    optimizer: dict[str, Float[Array, "*R"] | Int[Array, "*R"]]

    @property
    def num_runs(self) -> int:
        """R, the number of runs."""
        return self.seed.shape[0]


def run_key(hypers: Hypers) -> Array:
    """The PRNG key of one run (``hypers`` without the run axis); only folded, never advanced."""
    return jax.random.key(hypers.seed)


_NO_STEP = 2**32 - 1  # steps are folded in for dropout; none reaches this number


def order_key(hypers: Hypers) -> Array:
    """The key that determines the order of a run's data."""
    return jax.random.fold_in(run_key(hypers), _NO_STEP)
