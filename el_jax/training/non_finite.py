"""Report NaNs and infinities with their run and update, or end the training."""

import logging
from typing import Literal

import jax
import numpy as np

from el_jax.process.errors import NOT_FINITE, UserError
from el_jax.training.state import BAD_PARTS, Health, Hypers

_LOG = logging.getLogger(__name__)

OnNonFinite = Literal["raise", "stop"]


class NonFiniteError(UserError, RuntimeError):
    """A loss, gradient or parameter update was NaN or infinite; earlier checkpoints are intact.

    Attributes:
        step: the first update that was not finite, in any run.
        run: index of that run.
        seed: seed of that run.
    """

    exit_code = NOT_FINITE

    def __init__(self, message: str, step: int, run: int, seed: int) -> None:
        super().__init__(message, step, run, seed)  # all arguments: unpickling needs them
        self.step, self.run, self.seed = step, run, seed

    def __str__(self) -> str:
        return self.args[0]


def _name_run(run: int, hypers: Hypers) -> str:
    numbers = [*hypers.optimizer.items(), *hypers.loss.items()]
    told = ", ".join(f"{name}={float(value[run]):g}" for name, value in numbers)
    return f"run {run} (seed {int(hypers.seed[run])}, {told})"


def _what_happened(health: Health, run: int, hypers: Hypers) -> str:
    part, step = BAD_PARTS[health.bad_part[run]], health.stopped_at[run]
    return f"{part} is not finite at step {step} in {_name_run(run, hypers)}"


def _non_finite(health: Health, hypers: Hypers) -> NonFiniteError:
    stopped = health.bad_part >= 0
    run = int(np.argmin(np.where(stopped, health.stopped_at, np.iinfo(np.int32).max)))
    # before the first update the learning rate has had no effect
    advice = "lower optim.peak_lr, lengthen optim.warmup_steps or set optim.clip_norm"
    if health.stopped_at[run] == 0:
        advice = "no update was made yet: look at the data, the loss and the initial parameters"
    message = (
        f"{_what_happened(health, run, hypers)}; {stopped.sum()} of {stopped.size} runs; {advice}"
    )
    return NonFiniteError(message, int(health.stopped_at[run]), run, int(hypers.seed[run]))


class HealthWatch:
    """Reads the health of all runs after every dispatch; warns of new faults or raises."""

    def __init__(self, hypers: Hypers, on_non_finite: OnNonFinite, health: Health) -> None:
        self._hypers, self._policy = jax.device_get(hypers), on_non_finite
        self._known = health

    @property
    def all_stopped(self) -> bool:
        """True once no run continues, as far as was seen."""
        return bool((self._known.stopped_at >= 0).all())

    def __call__(self, health: Health) -> None:
        """Compare the runs' health after a dispatch with that before it.

        Raises:
            NonFiniteError: a run was stopped and the policy is to raise, or no run is left.
        """
        bad = health.bad_part >= 0
        if bad.any() and (self._policy == "raise" or bad.all()):
            raise _non_finite(health, self._hypers)
        for run in map(int, np.flatnonzero(health.bad_part > self._known.bad_part)):
            _LOG.warning("%s; stopped it", _what_happened(health, run, self._hypers))
        self._known = health
