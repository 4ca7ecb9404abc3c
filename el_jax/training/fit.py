"""The one loop over gradient steps."""

import dataclasses
import logging
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import jax
import numpy as np
from jax import Array

from el_jax.training.checkpoint import Checkpoints
from el_jax.training.mechanism import Probe
from el_jax.training.processes import together
from el_jax.training.program import Metrics, Program
from el_jax.training.replay import advance_twice
from el_jax.training.shared_checkpoints import SharedCheckpoints
from el_jax.training.sinks import Sink
from el_jax.training.state import BAD_PARTS, Health, Hypers, TrainState
from el_jax.training.summary import Row, summarise
from el_jax.types import Batch, Params

_LOG = logging.getLogger(__name__)

OnNonFinite = Literal["raise", "stop", "rewind"]


@dataclasses.dataclass(frozen=True)
class FitOptions:
    """How long to train and how often to look, in updates.

    Attributes:
        num_updates: total, counted from step 0.
        log_every: updates per dispatch; a row of batch metrics is their mean.
        eval_every: between evaluations; a multiple of ``log_every``.
        checkpoint_every: between checkpoints; a multiple of ``log_every``.
        on_non_finite: what a NaN or infinity in one run does: "raise" ends the training; with
            "stop" and "rewind" the others go on, and it is an error only once none is left.
            Which runs go back and how often is in the program.
        replay_every: with K > 0, one of K dispatches (``log_every`` updates each) is computed
            twice and every bit compared, which takes 1/K of the time; 0 for never.
    """

    num_updates: int
    log_every: int
    eval_every: int
    checkpoint_every: int
    on_non_finite: OnNonFinite = "raise"
    replay_every: int = 0

    def __post_init__(self) -> None:
        if self.log_every < 1:
            raise ValueError(f"log_every={self.log_every}: must be at least 1")
        for name in ("num_updates", "eval_every", "checkpoint_every"):
            value = getattr(self, name)
            if value < 1 or value % self.log_every:
                raise ValueError(
                    f"{name}={value}: must be a positive multiple of log_every={self.log_every}"
                )
        if self.replay_every < 0:
            raise ValueError(f"replay_every={self.replay_every}: must be at least 0")


class NonFiniteError(RuntimeError):
    """A loss, gradient or parameter update was NaN or infinite; earlier checkpoints are intact.

    Attributes:
        step: the first update at which it happened, in any run.
        run: index of that run.
        seed: its seed.
    """

    def __init__(self, message: str, step: int, run: int, seed: int) -> None:
        super().__init__(message, step, run, seed)  # all of them, so that it can be pickled
        self.step, self.run, self.seed = step, run, seed

    def __str__(self) -> str:
        return self.args[0]


def _name_run(run: int, hypers: Hypers) -> str:
    numbers = {"peak_lr": hypers.peak_lr, "warmup_steps": hypers.warmup_steps, **hypers.loss}
    told = ", ".join(f"{name}={float(value[run]):g}" for name, value in numbers.items())
    return f"run {run} (seed {int(hypers.seed[run])}, {told})"


def _what_happened(health: Health, run: int, hypers: Hypers) -> str:
    part, step = BAD_PARTS[health.bad_part[run]], health.last_bad[run]
    return f"{part} is not finite at step {step} in {_name_run(run, hypers)}"


def _non_finite(health: Health, hypers: Hypers) -> NonFiniteError:
    stopped = health.stopped_at >= 0
    run = int(np.argmin(np.where(stopped, health.stopped_at, np.iinfo(np.int32).max)))
    message = (
        f"{_what_happened(health, run, hypers)}; {stopped.sum()} of {stopped.size} runs; lower "
        "optim.peak_lr, lengthen optim.warmup_steps or set optim.clip_norm"
    )
    return NonFiniteError(message, int(health.stopped_at[run]), run, int(hypers.seed[run]))


class _Watch:
    """Reads the health of every dispatch, and says or raises what it finds."""

    def __init__(self, hypers: Hypers, on_non_finite: OnNonFinite, health: Health) -> None:
        self._hypers, self._policy = jax.device_get(hypers), on_non_finite
        self._known = health

    def __call__(self, health: Health) -> None:
        """Take what is known of the runs after a dispatch.

        Raises:
            NonFiniteError: a run was stopped and the policy is to raise, or none is left.
        """
        stopped = health.stopped_at >= 0
        if stopped.any() and (self._policy == "raise" or stopped.all()):
            raise _non_finite(health, self._hypers)
        for run in map(int, np.flatnonzero(health.last_bad > self._known.last_bad)):
            what = "stopped it" if stopped[run] else "went back to the start of the dispatch"
            _LOG.warning("%s; %s", _what_happened(health, run, self._hypers), what)
        self._known = health


class Stopped(RuntimeError):
    """Training was asked to stop, has saved its state and can be resumed."""

    def __init__(self, step: int, signum: int) -> None:
        super().__init__(step, signum)
        self.step, self.signum = step, signum

    def __str__(self) -> str:
        return f"stopped by {signal.Signals(self.signum).name} after {self.step} updates; saved"


class _Pending(NamedTuple):
    """Metrics still being computed, fetched one dispatch late so that the device never waits."""

    step: int
    batch: Metrics
    health: Health
    evaluations: dict[str, Metrics]
    probes: dict[str, Array]


def _record(pending: _Pending, program: Program, watch: _Watch, sinks: Sequence[Sink]) -> None:
    fetched = _Pending(pending.step, *program.layout.fetch(pending[1:]))
    watch(fetched.health)
    row: Row = summarise(fetched.batch, program.group_names, "batch")
    for split, metrics in fetched.evaluations.items():
        row |= summarise(metrics, program.group_names, split)
    row |= {name: np.asarray(values, np.float64) for name, values in fetched.probes.items()}
    going_on = fetched.health.stopped_at < 0  # a stopped run has no numbers
    row = {name: np.where(going_on, values, np.nan) for name, values in row.items()}
    with together():
        for sink in sinks:
            sink.write(fetched.step, row)


def _probe(probes: Sequence[Probe], params: Params, program: Program) -> dict[str, Array]:
    if probes and jax.process_count() > 1:  # each process measures all runs, on its own device
        params = program.layout.fetch(params)
    return {name: values for probe in probes for name, values in probe(params).items()}


def fit(
    program: Program,
    options: FitOptions,
    evaluations: Mapping[str, Batch],
    *,
    final_evaluations: Mapping[str, Batch] | None = None,
    probes: Sequence[Probe] = (),
    state: TrainState | None = None,
    sinks: Sequence[Sink] = (),
    checkpoints: Checkpoints | SharedCheckpoints | None = None,
    stop: Callable[[], int | None] = lambda: None,
) -> TrainState:
    """Train from ``state`` (default: step 0) to ``options.num_updates``.

    Args:
        program: the compiled functions.
        options: how long and how often.
        evaluations: split name -> batch, measured every ``eval_every`` and at the end.
        final_evaluations: measured at the end only.
        probes: further measurements of the parameters, taken with the evaluations.
        state: where to go on from; its buffers are donated to the next update.
        sinks: take one row at every multiple of ``log_every``.
        checkpoints: saved every ``checkpoint_every``, at the end, and on ``stop``.
        stop: asked after each dispatch; a signal number means save and leave.

    Returns:
        The state after the last update.

    Raises:
        NonFiniteError: names the first step and seed; see ``FitOptions.on_non_finite``.
        ReplayError: updates computed twice differ; see ``FitOptions.replay_every``.
        Stopped: after saving.
    """
    state = program.init() if state is None else state
    fetch = program.layout.fetch
    watch = _Watch(program.hypers, options.on_non_finite, fetch(state.health))
    pending: _Pending | None = None
    first = int(state.step)
    for start in range(first, options.num_updates, options.log_every):
        step = start + options.log_every
        last = step == options.num_updates
        dispatch = step // options.log_every
        replayed = options.replay_every and dispatch % options.replay_every == 0
        advance = partial(advance_twice, program) if replayed else program.advance
        state, metrics, health = advance(state, options.log_every)
        if start == first and checkpoints is not None:
            checkpoints.prepare()  # now that the devices have work
        look = last or step % options.eval_every == 0
        splits = dict(evaluations) if look else {}
        splits |= dict(final_evaluations or {}) if last else {}
        evaluated = {k: program.evaluate(state.params, batch) for k, batch in splits.items()}
        probed = _probe(probes if look else (), state.params, program)
        if pending is not None:
            _record(pending, program, watch, sinks)
        pending = _Pending(step, metrics, health, evaluated, probed)
        signum = stop()
        if last or signum or step % options.checkpoint_every == 0:
            _record(pending, program, watch, sinks)  # may raise: then nothing is saved
            pending = None
            if checkpoints is not None:
                checkpoints.save(state)
        if (signum or last) and checkpoints is not None:
            checkpoints.wait()
        if signum and not last:
            raise Stopped(step, signum)
    return state
