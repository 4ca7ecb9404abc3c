"""The one loop over gradient steps."""

import dataclasses
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import numpy as np
from jax import Array

from el_jax.losses import TokenLoss
from el_jax.process.errors import UserError
from el_jax.training.metrics import summarise
from el_jax.training.non_finite import HealthWatch, OnNonFinite
from el_jax.training.objectives.future import FutureHead
from el_jax.training.objectives.heads import Head, LogitHead
from el_jax.training.program import Program, Spec, make_program
from el_jax.training.progress import Watched, watched
from el_jax.training.sinks import Sink
from el_jax.training.state import Health, TrainState
from el_jax.training.step import Metrics
from el_jax.types import Batch, Params, Probe, Row

Marks: TypeAlias = Literal["every", "log"]


@dataclasses.dataclass(frozen=True)
class FitOptions:
    """Length of a training and intervals between logs, evaluations and checkpoints, in updates.

    Attributes:
        num_updates: total, counted from step 0.
        log_every: updates per dispatch; a row of batch metrics is their mean.
        eval_every: updates between evaluations; a multiple of ``log_every``.
        checkpoint_every: updates between checkpoints; a multiple of ``log_every``.
        eval_at: "every", or "log" to evaluate also after 1, 2, 4, 8, ... times ``log_every``.
        checkpoint_at: the same for checkpoints.
        on_non_finite: consequence of a NaN or infinity in one run: "raise" ends the training; with
            "stop" the other runs continue, and the training fails only once no run is left.
    """

    num_updates: int
    log_every: int
    eval_every: int
    checkpoint_every: int
    eval_at: Marks = "every"
    checkpoint_at: Marks = "every"
    on_non_finite: OnNonFinite = "raise"

    def __post_init__(self) -> None:
        if self.log_every < 1:
            raise ValueError(f"log_every={self.log_every}: must be at least 1")
        for name in ("num_updates", "eval_every", "checkpoint_every"):
            value = getattr(self, name)
            if value < 1 or value % self.log_every:
                raise ValueError(
                    f"{name}={value}: must be a positive multiple of log_every={self.log_every}"
                )

    def evaluates(self, step: int) -> bool:
        """True if an evaluation is due after ``step`` updates."""
        return step == self.num_updates or self._due(step, self.eval_every, self.eval_at)

    def saves(self, step: int) -> bool:
        """True if a checkpoint is due after ``step`` updates."""
        return step == self.num_updates or self._due(
            step, self.checkpoint_every, self.checkpoint_at
        )

    def _due(self, step: int, every: int, at: Marks) -> bool:
        dispatches = step // self.log_every
        return step % every == 0 or (at == "log" and dispatches & (dispatches - 1) == 0)


@dataclasses.dataclass(frozen=True)
class Training:
    """Everything ``fit`` needs.

    Attributes:
        program: the compiled functions.
        options: length of the training and intervals of its records.
        evaluations: split name -> batch, measured every ``eval_every`` and at the end.
        final_evaluations: split name -> batch, measured at the end only.
        probes: further measurements.
    """

    program: Program
    options: FitOptions
    evaluations: Mapping[str, Batch] = dataclasses.field(default_factory=dict)
    final_evaluations: Mapping[str, Batch] = dataclasses.field(default_factory=dict)
    probes: tuple[Probe, ...] = ()

    @property
    def watched(self) -> Watched:
        """Metrics that the progress display shows."""
        return watched(self.evaluations, self.program.group_names)

    @property
    def spec(self) -> Spec:
        """Task, objective, optimizer and runs."""
        return self.program.spec

    def with_head(self, head: Head) -> "Training":
        """The same training with another head: model, loss, or both."""
        spec = dataclasses.replace(self.spec, objective=self.spec.objective.with_head(head))
        return dataclasses.replace(self, program=make_program(spec))

    def with_loss(self, loss: TokenLoss) -> "Training":
        """The same training with another loss, a function of ``TokenStats`` alone.

        The logits are formed, whatever path the earlier loss took.
        """
        head = self.spec.objective.head
        plain = LogitHead(head.model, lambda stats, *_: loss(stats), head.temperature)
        return self.with_head(head._replace(base=plain) if isinstance(head, FutureHead) else plain)


class Stopped(UserError, RuntimeError):
    """A signal stopped the training; its state is saved, and it can be resumed."""

    def __init__(self, step: int, signum: int) -> None:
        super().__init__(step, signum)
        self.step, self.signum = step, signum
        self.exit_code = 128 + signum  # as in a shell

    def __str__(self) -> str:
        return f"stopped by {signal.Signals(self.signum).name} after {self.step} updates; saved"


@runtime_checkable
class Saves(Protocol):
    """A store of training states, such as the checkpoints of a workdir."""

    def prepare(self) -> None:
        """Prepare in the background; called once the devices are busy."""

    def save(self, state: TrainState, /) -> None:
        """Start saving a state; return when its buffers may be donated."""

    def wait(self) -> None:
        """Wait until the save in progress is on disk."""


Probed = dict[str, Array]


class _Pending(NamedTuple):
    """Metrics in computation, fetched one dispatch late so that the device never waits."""

    step: int
    batch: Metrics
    health: Health
    evaluations: dict[str, Metrics]
    probes: Probed


def _record(
    pending: _Pending, training: Training, watch: HealthWatch, sinks: Sequence[Sink]
) -> None:
    program, probes = training.program, training.probes
    fetched = _Pending(pending.step, *program.layout.fetch(pending[1:]))
    watch(fetched.health)
    row: Row = {}
    for split, metrics in {"batch": fetched.batch, **fetched.evaluations}.items():
        row |= summarise(metrics, program.group_names, split, probes)
    row |= {name: np.asarray(values, np.float64) for name, values in fetched.probes.items()}
    if training.spec.stop_at_ce:
        reached = (fetched.health.stopped_at >= 0) & (fetched.health.bad_part < 0)
        row["reached_step"] = np.where(reached, fetched.health.stopped_at, np.nan)
    finite = fetched.health.bad_part < 0  # a run with a NaN reports no numbers
    row = {name: np.where(finite, values, np.nan) for name, values in row.items()}
    for sink in sinks:
        sink.write(fetched.step, row)


def _look(training: Training, step: int, params: Params) -> tuple[dict[str, Metrics], Probed]:
    """Compute the evaluations and probes that are due after ``step`` updates."""
    options, program = training.options, training.program
    if not options.evaluates(step):
        return {}, {}
    splits = dict(training.evaluations)
    if step == options.num_updates:
        splits |= training.final_evaluations
    evaluated = {split: program.evaluate(params, batch) for split, batch in splits.items()}
    probes = [probe.of_params for probe in training.probes if probe.of_params is not None]
    if probes and jax.process_count() > 1:
        params = program.layout.fetch(params)  # each process measures all runs, on its own device
    return evaluated, {name: value for probe in probes for name, value in probe(params).items()}


def fit(
    training: Training,
    *,
    state: TrainState | None = None,
    sinks: Sequence[Sink] = (),
    checkpoints: Saves | None = None,
    stop: Callable[[], int | None] = lambda: None,
) -> TrainState:
    """Train from ``state`` (default: step 0) to ``training.options.num_updates``.

    Args:
        training: program, options, evaluations and probes.
        state: the state to start from; its buffers are donated to the next update.
        sinks: receivers of one row at every multiple of ``log_every``, until all runs have stopped,
            and at the end.
        checkpoints: the store; the state is saved where ``options.saves`` is true, until all runs
            have stopped, and on ``stop``.
        stop: called after each dispatch; if it returns a signal number, save and leave.

    Returns:
        The state after the last update.

    Raises:
        NonFiniteError: names the first step and seed; see ``FitOptions.on_non_finite``.
        Stopped: ``stop`` returned a signal, and the state is saved.
    """
    program, options = training.program, training.options
    state = program.init() if state is None else state
    watch = HealthWatch(program.hypers, options.on_non_finite, program.layout.fetch(state.health))
    pending: _Pending | None = None
    first = int(state.step)
    for start in range(first, options.num_updates, options.log_every):
        step = start + options.log_every
        last = step == options.num_updates
        if watch.all_stopped and not last:  # nothing changes any more; the end is still measured
            state = state._replace(step=state.step + options.log_every)
            continue
        state, metrics, health = program.advance(state, options.log_every)
        if start == first and checkpoints is not None:
            checkpoints.prepare()  # now that the devices are busy
        evaluated, probed = _look(training, step, state.params)
        if pending is not None:
            _record(pending, training, watch, sinks)
        pending = _Pending(step, metrics, health, evaluated, probed)
        signum = stop()
        if signum or options.saves(step):
            _record(pending, training, watch, sinks)  # may raise: then nothing is saved
            pending = None
            if checkpoints is not None:
                checkpoints.save(state)
        if (signum or last) and checkpoints is not None:
            checkpoints.wait()
        if signum and not last:
            raise Stopped(step, signum)
    return state
