"""What a training carries from update to update, for all of its runs at once."""

from typing import NamedTuple

import jax
from jax import Array
from jaxtyping import Float, Int, UInt32

from el_jax.types import Params


class Health(NamedTuple):
    """Whether the updates of each run were finite; an update that is not is never applied.

    Attributes:
        stopped_at: the update that stopped the run for good, -1 for a run that goes on, ``[R]``.
        rewinds: how often the run was set back to where its dispatch began, ``[R]``.
        last_bad: the last update that was not finite, -1 if there was none, ``[R]``.
        bad_part: what was not finite in that update, an index into ``BAD_PARTS``, ``[R]``.
    """

    stopped_at: Int[Array, "*R"]
    rewinds: Int[Array, "*R"]
    last_bad: Int[Array, "*R"]
    bad_part: Int[Array, "*R"]


BAD_PARTS = ("loss", "gradient", "parameter update")


class Run(NamedTuple):
    """What one run carries from update to update; with a leading axis ``R``, all of them."""

    params: Params
    opt_state: Params
    health: Health


class TrainState(NamedTuple):
    """Parameters and optimizer state of R runs, and the updates they have all made.

    Attributes:
        step: updates made so far, scalar; a run that was stopped does not move any more.
        params: every leaf has a leading run axis ``[R, ...]``.
        opt_state: optax state, every leaf with the same leading axis.
        health: which runs are still finite.
    """

    step: Int[Array, ""]
    params: Params
    opt_state: Params
    health: Health

    @property
    def runs(self) -> Run:
        """All but the step."""
        return Run(self.params, self.opt_state, self.health)


class Hypers(NamedTuple):
    """What differs between the runs of one training: traced, so that a sweep compiles once.

    Attributes:
        seed: seed of the initialisation and of dropout, ``[R]``.
        peak_lr: learning rate after warm-up, ``[R]``.
        warmup_steps: updates of linear warm-up, ``[R]``.
        loss: the numeric parameters of the token loss (``lam``, ``b`` ...), each ``[R]``.
    """

    seed: UInt32[Array, "*R"]
    peak_lr: Float[Array, "*R"]
    warmup_steps: Int[Array, "*R"]
    loss: dict[str, Float[Array, "*R"]]

    @property
    def num_runs(self) -> int:
        """R, the number of runs."""
        return self.seed.shape[0]


def run_key(hypers: Hypers) -> Array:
    """The PRNG key of one run (``hypers`` without the run axis); never advanced, only folded."""
    return jax.random.key(hypers.seed)
