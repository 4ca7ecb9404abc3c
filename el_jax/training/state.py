"""State of a training between updates, for all of its runs at once."""

from typing import NamedTuple

import jax
from jax import Array
from jaxtyping import Float, Int, UInt32

from el_jax.types import Params


class Health(NamedTuple):
    """Record of updates that were not finite, of each run; such an update is never applied.

    Attributes:
        stopped_at: the update that stopped the run for good, -1 for a run that goes on, ``[R]``.
        bad_part: first part of that update that was not finite, an index into ``BAD_PARTS``,
            ``[R]``.
    """

    stopped_at: Int[Array, "*R"]
    bad_part: Int[Array, "*R"]


# in the order of their computation: the first that is not finite infects those after it
BAD_PARTS = ("loss", "gradient", "parameter update")


class Run(NamedTuple):
    """State of one run between updates; with a leading axis ``R``, that of all runs."""

    params: Params
    opt_state: Params
    health: Health


class TrainState(NamedTuple):
    """Parameters and optimizer state of R runs, and the number of updates all of them have made.

    Attributes:
        step: updates made so far, scalar; a stopped run no longer changes.
        params: every leaf has a leading run axis ``[R, ...]``.
        opt_state: optax state, every leaf with the same leading axis.
        health: record of updates that were not finite.
    """

    step: Int[Array, ""]
    params: Params
    opt_state: Params
    health: Health

    @property
    def runs(self) -> Run:
        """The state without the step."""
        return Run(self.params, self.opt_state, self.health)


class Hypers(NamedTuple):
    """Numbers that differ between the runs of one training: traced, so that a sweep compiles once.

    Attributes:
        seed: seed of the initialisation, of the order of the data and of dropout, ``[R]``.
        loss: numbers of the token loss (``lam``, ``b`` ...), each ``[R]``.
        optimizer: numbers of the optimizer and its schedule: ``peak_lr``, ``warmup_steps`` and
            those that are swept, each ``[R]``.
    """

    seed: UInt32[Array, "*R"]
    loss: dict[str, Float[Array, "*R"]]
    optimizer: dict[str, Float[Array, "*R"] | Int[Array, "*R"]]

    @property
    def num_runs(self) -> int:
        """R, the number of runs."""
        return self.seed.shape[0]


def run_key(hypers: Hypers) -> Array:
    """The PRNG key of one run (``hypers`` without the run axis); never advanced, only folded."""
    return jax.random.key(hypers.seed)


_NO_STEP = 2**32 - 1  # steps are folded in for dropout; none gets here


def order_key(hypers: Hypers) -> Array:
    """The key of the order in which one run reads its data."""
    return jax.random.fold_in(run_key(hypers), _NO_STEP)
