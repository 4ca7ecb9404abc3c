"""One training as three compiled functions: initialise, advance, evaluate; all runs at once."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from el_jax.tasks import Task
from el_jax.training.moments import Moments, pool_tree, single
from el_jax.training.objectives import Objective
from el_jax.training.optimizers import OptimizerConfig, make_optimizer
from el_jax.training.parallel import ONE_DEVICE, Axis, Layout, Lifted
from el_jax.training.runs import RunAxis, Runs, over_runs
from el_jax.training.state import Health, Hypers, TrainState, run_key
from el_jax.types import Batch, Key, Params

Metrics = dict[str, Moments]  # each leaf [R, num_groups], or [R] for whole-update quantities

_STATE: TrainState = TrainState("shared", "runs", "runs", "runs")  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class Program:
    """The pure functions of one training, ready to be driven by ``fit``.

    Attributes:
        init: ``init() -> TrainState`` at step 0.
        advance: ``advance(state, num_updates) -> (state, metrics, health)``; donates ``state``,
            whose ``health`` is returned beside it to outlive the next donation.
        evaluate: ``evaluate(params, batch) -> metrics`` over all windows of a batch.
        hypers: what differs between the runs.
        group_names: names of the groups behind the last axis of the metrics.
        layout: which device computes what; reads what the functions return.
        groups: how many runs a function computes at once, by its name. Chosen by its first call
            where there is a choice, unless it is there already: a training that goes on keeps to
            what it began with, since the bits depend on it.
    """

    init: Callable[[], TrainState]
    advance: Callable[[TrainState, int], tuple[TrainState, Metrics, Health]]
    evaluate: Callable[[Params, Batch], Metrics]
    hypers: Hypers
    group_names: tuple[str, ...]
    layout: Layout
    groups: dict[str, int]


class _Run(NamedTuple):
    """What one run carries from update to update."""

    params: Params
    opt_state: Params
    health: Health


def _where(condition: Array, ours: _Run, theirs: _Run) -> _Run:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), ours, theirs)


def _judge(health: Health, step: Array, finite: Array, max_rewinds: int) -> Health:
    """The health of a run after an update whose parts (see ``BAD_PARTS``) are ``finite [3]``."""
    bad = ~finite.all() & (health.stopped_at < 0)
    rewound = bad & (health.rewinds < max_rewinds)
    return Health(
        stopped_at=jnp.where(bad & ~rewound, step, health.stopped_at),
        rewinds=health.rewinds + rewound,
        last_bad=jnp.where(bad, step, health.last_bad),
        bad_part=jnp.where(bad, jnp.argmin(finite).astype(jnp.int32), health.bad_part),
    )


@dataclasses.dataclass(frozen=True)
class _Update:
    """One update of one run."""

    objective: Objective
    optimizer: OptimizerConfig
    uses_dropout: bool
    max_rewinds: int
    layout: Layout

    def _gradient(
        self, params: Params, step: Array, batch: Batch, hypers: Hypers
    ) -> tuple[tuple[Array, Params], Metrics]:
        """Loss and gradient over the batch, and the metrics of this device's share of it."""
        key = jax.random.fold_in(run_key(hypers), step) if self.uses_dropout else None
        whole = batch.mask.sum(dtype=jnp.float32) if self.layout.splits_windows else None

        def part(batch: Batch, key: Key | None) -> tuple[tuple[Array, Params], Metrics]:
            (loss, outputs), grads = jax.value_and_grad(self.objective.loss, has_aux=True)(
                params, batch, hypers.loss, key, whole
            )
            return (loss, grads), self.objective.measure(outputs, batch, hypers.loss)

        return self.layout.sum_over_windows(part, batch, key)

    def __call__(
        self, run: _Run, start: _Run, step: Array, batch: Batch, hypers: Hypers
    ) -> tuple[_Run, tuple[Metrics, Metrics]]:
        """``run`` after the update; ``start`` if that is not finite and may be rewound.

        The metrics are those of this device's share of the batch, and those of the update.
        """
        (loss, grads), measured = self._gradient(run.params, step, batch, hypers)
        updates, opt_state = make_optimizer(self.optimizer, hypers).update(
            grads, run.opt_state, run.params
        )
        norms = optax.tree.norm(grads), optax.tree.norm(updates)
        health = _judge(run.health, step, jnp.isfinite(jnp.stack([loss, *norms])), self.max_rewinds)
        after = _Run(optax.apply_updates(run.params, updates), opt_state, health)
        going_on = (health.stopped_at < 0) & (health.last_bad != step)
        held = run._replace(health=health)
        if self.max_rewinds:
            rewound = health.rewinds > run.health.rewinds
            held = _where(rewound, start._replace(health=health), held)
        return _where(going_on, after, held), (measured, {"grad_norm": single(norms[0])})


def _make_advance(
    task: Task, update: _Update, hypers: Hypers, runs: Runs
) -> Callable[[TrainState, int], tuple[TrainState, Metrics, Health]]:
    layout = update.layout
    hypers = layout.place(hypers, "runs")
    data = layout.place(jax.jit(task.train_set)(), "shared")

    def one_run(args: tuple[_Run, Hypers], shared: tuple[Array, Any]) -> tuple[_Run, Metrics]:
        start, hypers = args
        steps, data = shared

        def body(run: _Run, step: Array) -> tuple[_Run, tuple[Metrics, Metrics]]:
            return update(run, start, step, task.batch_at(data, step), hypers)

        run, (measured, of_updates) = jax.lax.scan(body, start, steps)
        return run, layout.pool_over_devices(pool_tree(measured)) | pool_tree(of_updates)

    @functools.cache
    def compiled(num_updates: int) -> Callable[..., tuple[TrainState, Metrics, Health]]:
        def make(at_once: int) -> Lifted:
            all_runs = over_runs(one_run, runs.axis, at_once)

            def advance(
                state: TrainState, hypers: Hypers, data: Any
            ) -> tuple[TrainState, Metrics, Health]:
                steps = state.step + jnp.arange(num_updates)
                after, metrics = all_runs((_Run(*state[1:]), hypers), (steps, data))
                return TrainState(state.step + num_updates, *after), metrics, after.health

            takes: tuple[Any, Axis, Axis] = _STATE, "runs", "shared"
            return layout.lift(advance, takes, (_STATE, "runs", "runs"), donate=(0,))

        return runs.lift("updates", make)

    return lambda state, num_updates: compiled(num_updates)(state, hypers, data)


def block_windows(batch: Batch, eval_tokens: int, layout: Layout) -> int:
    """Windows of a batch that are evaluated at once, on all devices together."""
    windows = max(1, eval_tokens // batch.tokens.shape[1])
    return windows + (-windows % layout.num_devices if layout.splits_windows else 0)


def _blocks(batch: Batch, windows: int) -> Iterator[Batch]:
    """Split a batch into blocks of exactly ``windows`` windows; filling windows are masked."""
    filling = -batch.tokens.shape[0] % windows

    def pad(leaf: Array) -> Array:
        return jnp.concatenate([leaf, jnp.zeros((filling, *leaf.shape[1:]), leaf.dtype)])

    padded = jax.tree.map(pad, batch) if filling else batch  # mask is padded with False
    for first in range(0, padded.tokens.shape[0], windows):
        yield jax.tree.map(lambda leaf: leaf[first : first + windows], padded)  # noqa: B023


def _make_evaluate(
    objective: Objective, hypers: Hypers, runs: Runs, eval_tokens: int
) -> Callable[[Params, Batch], Metrics]:
    layout = runs.layout
    hypers = layout.place(hypers, "runs")

    def one_run(run: tuple[Params, Hypers], batch: Batch) -> Metrics:
        params, hypers = run
        measured = objective.measure(objective.outputs(params, batch), batch, hypers.loss)
        return layout.pool_over_devices(measured)

    def make(at_once: int) -> Lifted:
        all_runs = over_runs(one_run, runs.axis, at_once)
        return layout.lift(
            lambda params, hypers, batch: all_runs((params, hypers), batch),
            takes=("runs", "runs", "windows"),
            gives="runs",
        )

    block_metrics = runs.lift("evaluation", make)  # one block shape for every split: compiled once
    merge = jax.jit(lambda blocks: pool_tree(jax.tree.map(lambda *m: jnp.stack(m), *blocks)))

    def evaluate(params: Params, batch: Batch) -> Metrics:
        windows = block_windows(batch, eval_tokens, layout)
        total: Metrics | None = None
        for block in _blocks(batch, windows):
            metrics = block_metrics(params, hypers, block)
            total = metrics if total is None else merge((total, metrics))
        if total is None:
            raise ValueError("evaluate: the batch has no windows")
        return total

    return evaluate


def initial_state(
    objective: Objective, optimizer: OptimizerConfig, run_axis: RunAxis
) -> Callable[[Hypers], TrainState]:
    """The function from what differs between runs to the state of all of them at step 0."""

    def init_run(hypers: Hypers, _: None) -> _Run:
        params = objective.model.init(run_key(hypers))
        never = jnp.int32(-1)
        health = Health(stopped_at=never, rewinds=jnp.int32(0), last_bad=never, bad_part=never)
        return _Run(params, make_optimizer(optimizer, hypers).init(params), health)

    def init(hypers: Hypers) -> TrainState:
        return TrainState(jnp.int32(0), *over_runs(init_run, run_axis)(hypers, None))

    return init


def make_program(
    task: Task,
    objective: Objective,
    optimizer: OptimizerConfig,
    hypers: Hypers,
    *,
    run_axis: RunAxis = "vmap",
    max_runs_at_once: int = 0,
    eval_tokens: int = 4096,
    uses_dropout: bool = False,
    max_rewinds: int = 0,
    layout: Layout = ONE_DEVICE,
) -> Program:
    """Bind a task, an objective and an optimizer to the runs of one training.

    Args:
        task: where batches come from; its training set is drawn here, on the device.
        objective: model and loss.
        optimizer: what all runs share of their optimizer.
        hypers: what differs between runs; R is their number.
        run_axis: see ``over_runs``.
        max_runs_at_once: how many of its runs a device computes together under ``vmap``; with 0,
            all if they fit into its memory, else half of them, a quarter ...
        eval_tokens: tokens evaluated at once (bounds memory; does not change results).
        uses_dropout: whether the model is given a key during training.
        max_rewinds: how often a run whose update is not finite goes back to its parameters and
            optimizer state at the start of the dispatch, and on with the next batch; one time
            more stops it. At 0 it is stopped at once. Its neighbours are not touched.
        layout: which device computes what.
    """
    runs = Runs(run_axis, hypers.num_runs, max_runs_at_once, layout)
    update = _Update(objective, optimizer, uses_dropout, max_rewinds, layout)
    lifted_init = layout.lift(initial_state(objective, optimizer, run_axis), ("runs",), _STATE)
    return Program(
        init=functools.partial(runs.within_memory("initialisation", lifted_init), hypers),
        advance=_make_advance(task, update, hypers, runs),
        evaluate=_make_evaluate(objective, hypers, runs, eval_tokens),
        hypers=hypers,
        group_names=task.group_names,
        layout=layout,
        groups=runs.groups,
    )
