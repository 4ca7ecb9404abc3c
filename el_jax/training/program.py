"""One training as three compiled functions: initialise, advance, evaluate; all runs at once."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.process.compilation import Once
from el_jax.tasks import Task
from el_jax.training.layout import ONE_DEVICE, Axis, Layout, OnDevices
from el_jax.training.moments import pool_tree
from el_jax.training.objectives import Metrics, Objective
from el_jax.training.optimizers import OptimizerConfig, make_optimizer
from el_jax.training.runs import RunAxis, over_runs, within_memory
from el_jax.training.state import Health, Hypers, Run, TrainState, run_key
from el_jax.training.step import epoch, guarded, update
from el_jax.types import Batch, Params

_STATE: TrainState = TrainState("shared", "runs", "runs", "runs", "runs")  # type: ignore[arg-type]
# level 0 would change the last bit of parameters, and with it every committed result
_ONCE = functools.partial(Once, level=1)


@dataclasses.dataclass(frozen=True)
class Spec:
    """The parts from which a program is compiled.

    Attributes:
        objective: batches, model and loss.
        optimizer: the options that all runs share.
        hypers: the numbers that differ between the R runs.
        run_axis: see ``over_runs``.
        max_runs_at_once: largest number of runs that a device computes together under ``vmap``; 0
            means all of its runs.
        eval_tokens: tokens evaluated at once (bounds memory; changes no result but a batch loss,
            which is that of as many tokens).
        layout: distribution of runs or windows over devices.
        stop_at_ce: see ``epoch``.
    """

    objective: Objective
    optimizer: OptimizerConfig
    hypers: Hypers
    run_axis: RunAxis = "vmap"
    max_runs_at_once: int = 0
    eval_tokens: int = 4096
    layout: Layout = ONE_DEVICE
    stop_at_ce: float = 0.0

    @property
    def task(self) -> Task:
        """The task that provides the data."""
        return self.objective.task

    @property
    def runs_at_once(self) -> int:
        """Number of runs that a device computes at once."""
        num_here = self.layout.share(self.hypers.num_runs)
        return 1 if self.run_axis == "map" else min(self.max_runs_at_once or num_here, num_here)


@dataclasses.dataclass(frozen=True)
class Program:
    """The pure functions of one training, ready to be driven by ``fit``.

    Attributes:
        init: ``init() -> TrainState`` at step 0.
        init_from: ``init_from(params) -> TrainState`` at step 0 with given parameters, every leaf
            ``[R, ...]``.
        advance: ``advance(state, num_updates) -> (state, metrics, health)``; donates ``state``,
            whose ``health`` is also returned separately to survive the next donation. Leaves of the
            metrics are ``[R, num_groups]``, or ``[R]`` for whole-update quantities.
        evaluate: ``evaluate(params, batch) -> metrics`` over all windows of a batch.
        spec: the parts it was compiled from.
    """

    init: Callable[[], TrainState]
    init_from: Callable[[Params], TrainState]
    advance: Callable[[TrainState, int], tuple[TrainState, Metrics, Health]]
    evaluate: Callable[[Params, Batch], Metrics]
    spec: Spec

    @property
    def layout(self) -> Layout:
        """Distribution over devices; its ``fetch`` reads the arrays that the functions return."""
        return self.spec.layout

    @property
    def hypers(self) -> Hypers:
        """The numbers that differ between the runs."""
        return self.spec.hypers

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups on the last axis of the metrics."""
        return self.spec.task.group_names


def make_program(spec: Spec) -> Program:
    """Compile a training; its data set is drawn here, on the device."""
    layout, init = spec.layout, initialisation(spec)
    init_from = layout.compile(_state_from(spec), ("runs", "runs"), _STATE, jit=_ONCE)
    return Program(
        init=functools.partial(within_memory("initialisation", init, layout), spec.hypers),
        init_from=lambda params: init_from(spec.hypers, layout.place(params, "runs")),
        advance=_make_advance(spec),
        evaluate=_make_evaluate(spec),
        spec=spec,
    )


def _over_runs(
    function: Callable[..., Any], spec: Spec, at_once: int | None = None
) -> Callable[..., Any]:
    num_here = spec.layout.share(spec.hypers.num_runs)
    return over_runs(function, spec.run_axis, num_here, at_once)


def initialisation(spec: Spec) -> OnDevices:
    """``initial_state`` on all devices."""
    return spec.layout.compile(initial_state(spec), ("runs",), _STATE, jit=_ONCE)


def initial_state(spec: Spec) -> Callable[[Hypers], TrainState]:
    """Return a function from the ``Hypers`` of all runs to their ``TrainState`` at step 0."""

    def init_run(hypers: Hypers, _: None) -> Run:
        return _fresh(spec, hypers, spec.objective.head.model.init(run_key(hypers)))

    def init(hypers: Hypers) -> TrainState:
        return TrainState(jnp.int32(0), *_over_runs(init_run, spec)(hypers, None))

    return init


def _state_from(spec: Spec) -> Callable[[Hypers, Params], TrainState]:
    """Return a function from the numbers and parameters of all runs to their state at step 0."""

    def init_run(given: tuple[Hypers, Params], _: None) -> Run:
        return _fresh(spec, *given)

    def init(hypers: Hypers, params: Params) -> TrainState:
        return TrainState(jnp.int32(0), *_over_runs(init_run, spec)((hypers, params), None))

    return init


def _fresh(spec: Spec, hypers: Hypers, params: Params) -> Run:
    """A run before its first update."""
    never = jnp.int32(-1)
    health = Health(stopped_at=never, bad_part=never)
    opt_state = make_optimizer(spec.optimizer, hypers).init(params)
    return Run(params, opt_state, health, spec.objective.first_memory())


def _make_advance(spec: Spec) -> Callable[..., tuple[TrainState, Metrics, Health]]:
    layout = spec.layout
    hypers = layout.place(spec.hypers, "runs")
    data = layout.place(Once(spec.task.train_set)(), "shared")

    @functools.cache  # each number of updates is another shape, and so another program
    def compiled(num_updates: int) -> Callable[..., tuple[TrainState, Metrics, Health]]:
        return within_memory("updates", updates(spec, num_updates), layout, spec.runs_at_once)

    return lambda state, num_updates: compiled(num_updates)(state, hypers, data)


def updates(spec: Spec, num_updates: int) -> OnDevices:
    """Compose the updates of a dispatch: the step, its policy, the loop, all runs, all devices.

    Args:
        spec: the parts; no data are drawn.
        num_updates: updates per dispatch.

    Returns:
        ``(state, hypers, data) -> (state, metrics, health)``, which donates the state.
    """
    layout = spec.layout
    objective = layout.over_windows(spec.objective)
    optimizer = functools.partial(make_optimizer, spec.optimizer)
    step_of = functools.partial(update, objective=objective, optimizer=optimizer)
    one_run = epoch(guarded(step_of), objective.pool_over_devices, spec.stop_at_ce)
    all_runs = _over_runs(one_run, spec, spec.runs_at_once)

    def advance(state: TrainState, hypers: Hypers, data: Any) -> tuple[TrainState, Metrics, Health]:
        steps = state.step + jnp.arange(num_updates)
        after, metrics = all_runs((state.runs, hypers), (steps, data))
        return TrainState(state.step + num_updates, *after), metrics, after.health

    takes: tuple[Any, Axis, Axis] = _STATE, "runs", "shared"
    return layout.compile(advance, takes, (_STATE, "runs", "runs"), donate=(0,))


def block_windows(batch: Batch, eval_tokens: int, layout: Layout) -> int:
    """Number of windows evaluated at once, over all devices."""
    windows = max(1, eval_tokens // batch.tokens.shape[1])
    return windows + -windows % layout.data


def _blocks(batch: Batch, windows: int) -> Iterator[Batch]:
    """Split a batch into blocks of exactly ``windows`` windows; padding windows are masked."""
    filling = -batch.tokens.shape[0] % windows

    def pad(leaf: Array) -> Array:
        return jnp.concatenate([leaf, jnp.zeros((filling, *leaf.shape[1:]), leaf.dtype)])

    padded = jax.tree.map(pad, batch) if filling else batch  # mask is padded with False
    for first in range(0, padded.tokens.shape[0], windows):
        yield jax.tree.map(lambda leaf: leaf[first : first + windows], padded)  # noqa: B023


def evaluation(spec: Spec) -> OnDevices:
    """Compute the metrics of all runs on one block: ``(params, hypers, batch) -> metrics``."""
    layout = spec.layout
    objective = layout.over_windows(spec.objective)

    def of_run(run: tuple[Params, Hypers], batch: Batch) -> Metrics:
        params, hypers = run
        return objective.evaluate(params, batch, hypers.loss)

    all_runs = _over_runs(of_run, spec, spec.runs_at_once)
    return layout.compile(
        lambda params, hypers, batch: all_runs((params, hypers), batch),
        takes=("runs", "runs", "windows"),
        gives="runs",
    )


def _make_evaluate(spec: Spec) -> Callable[[Params, Batch], Metrics]:
    layout = spec.layout
    hypers = layout.place(spec.hypers, "runs")
    # every split has the same block shape, so this is compiled once
    of_block = within_memory("evaluation", evaluation(spec), layout, spec.runs_at_once)
    merge = jax.jit(lambda blocks: pool_tree(jax.tree.map(lambda *m: jnp.stack(m), *blocks)))

    def evaluate(params: Params, batch: Batch) -> Metrics:
        windows = block_windows(batch, spec.eval_tokens, layout)
        total: Metrics | None = None
        for block in _blocks(batch, windows):
            metrics = of_block(params, hypers, block)
            total = metrics if total is None else merge((total, metrics))
        if total is None:
            raise ValueError("evaluate: the batch has no windows")
        return total

    return evaluate
