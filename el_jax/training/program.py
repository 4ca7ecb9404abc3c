"""One training as three compiled functions: initialise, advance, evaluate; all runs at once."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Literal

import jax
import jax.numpy as jnp
import optax
from jax import Array

from el_jax.tasks import Task
from el_jax.training.moments import Moments, pool_tree, single
from el_jax.training.objectives import Objective
from el_jax.training.optimizers import OptimizerConfig, make_optimizer
from el_jax.training.state import Hypers, TrainState, run_key
from el_jax.types import Batch, Params

RunAxis = Literal["vmap", "map"]
Metrics = dict[str, Moments]  # each leaf [R, num_groups], or [R] for whole-update quantities


@dataclasses.dataclass(frozen=True)
class Program:
    """The pure functions of one training, ready to be driven by ``fit``.

    Attributes:
        init: ``init() -> TrainState`` at step 0.
        advance: ``advance(state, num_updates) -> (state, metrics, first_bad)``; donates ``state``.
            ``first_bad [R]`` is the step of the first update with a loss or gradient that is not
            finite, or of the last if it left such parameters; -1 if there is none.
        evaluate: ``evaluate(params, batch) -> metrics`` over all windows of a batch.
        hypers: what differs between the runs.
        group_names: names of the groups behind the last axis of the metrics.
    """

    init: Callable[[], TrainState]
    advance: Callable[[TrainState, int], tuple[TrainState, Metrics, Array]]
    evaluate: Callable[[Params, Batch], Metrics]
    hypers: Hypers
    group_names: tuple[str, ...]


def over_runs(function: Callable[..., Any], run_axis: RunAxis) -> Callable[..., Any]:
    """Lift ``function(run_args, shared_args)`` to runs on a leading axis of ``run_args``.

    ``vmap`` computes all runs together: fastest where one run does not fill the machine. ``map``
    computes them one after the other, and each is bit-equal to the same run trained alone.
    """
    if run_axis == "vmap":
        return jax.vmap(function, in_axes=(0, None))
    return lambda run_args, shared: jax.lax.map(lambda args: function(args, shared), run_args)


def _update(
    objective: Objective,
    optimizer: OptimizerConfig,
    uses_dropout: bool,
    carry: tuple[Params, Params],
    step: Array,
    batch: Batch,
    hypers: Hypers,
) -> tuple[tuple[Params, Params], tuple[Metrics, Array]]:
    """One update of one run."""
    params, opt_state = carry
    key = jax.random.fold_in(run_key(hypers), step) if uses_dropout else None
    (loss, logits), grads = jax.value_and_grad(objective.loss, has_aux=True)(
        params, batch, hypers.loss, key
    )
    updates, opt_state = make_optimizer(optimizer, hypers).update(grads, opt_state, params)
    grad_norm = optax.tree.norm(grads)
    metrics = objective.measure(logits, batch, hypers.loss) | {"grad_norm": single(grad_norm)}
    finite = jnp.isfinite(loss) & jnp.isfinite(grad_norm)
    return (optax.apply_updates(params, updates), opt_state), (metrics, finite)


def _all_finite(tree: Params) -> Array:
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(tree)]).all()


def _make_advance(
    task: Task,
    objective: Objective,
    optimizer: OptimizerConfig,
    hypers: Hypers,
    run_axis: RunAxis,
    uses_dropout: bool,
) -> Callable[[TrainState, int], tuple[TrainState, Metrics, Array]]:
    data = jax.jit(task.train_set)()

    def one_run(run: tuple[Params, Params, Hypers], shared: tuple[Array, Any]) -> tuple:
        params, opt_state, hypers = run
        steps, data = shared

        def body(carry: tuple[Params, Params], step: Array) -> Any:
            batch = task.batch_at(data, step)
            return _update(objective, optimizer, uses_dropout, carry, step, batch, hypers)

        carry, (metrics, finite) = jax.lax.scan(body, (params, opt_state), steps)
        # of the last update no later loss tells
        after = jnp.where(_all_finite(carry), -1, steps[-1])
        first_bad = jnp.where(finite.all(), after, steps[jnp.argmin(finite)])
        return *carry, pool_tree(metrics), first_bad

    def advance(
        state: TrainState, hypers: Hypers, data: Any, num_updates: int
    ) -> tuple[TrainState, Metrics, Array]:
        steps = state.step + jnp.arange(num_updates)
        params, opt_state, metrics, first_bad = over_runs(one_run, run_axis)(
            (state.params, state.opt_state, hypers), (steps, data)
        )
        return TrainState(state.step + num_updates, params, opt_state), metrics, first_bad

    compiled = jax.jit(advance, static_argnums=3, donate_argnums=0)
    return lambda state, num_updates: compiled(state, hypers, data, num_updates)


def _blocks(batch: Batch, windows: int) -> Iterator[Batch]:
    """Split a batch into blocks of exactly ``windows`` windows; filling windows are masked."""
    filling = -batch.tokens.shape[0] % windows

    def pad(leaf: Array) -> Array:
        return jnp.concatenate([leaf, jnp.zeros((filling, *leaf.shape[1:]), leaf.dtype)])

    padded = jax.tree.map(pad, batch) if filling else batch  # mask is padded with False
    for first in range(0, padded.tokens.shape[0], windows):
        yield jax.tree.map(lambda leaf: leaf[first : first + windows], padded)  # noqa: B023


def _make_evaluate(
    objective: Objective, hypers: Hypers, run_axis: RunAxis, eval_tokens: int
) -> Callable[[Params, Batch], Metrics]:
    def one_run(run: tuple[Params, Hypers], batch: Batch) -> Metrics:
        params, hypers = run
        return objective.measure(objective.model.apply(params, batch), batch, hypers.loss)

    # one block shape for every split: the program is compiled once
    block_metrics = jax.jit(
        lambda params, hypers, batch: over_runs(one_run, run_axis)((params, hypers), batch)
    )
    merge = jax.jit(lambda blocks: pool_tree(jax.tree.map(lambda *m: jnp.stack(m), *blocks)))

    def evaluate(params: Params, batch: Batch) -> Metrics:
        windows = max(1, eval_tokens // batch.tokens.shape[1])
        total: Metrics | None = None
        for block in _blocks(batch, windows):
            metrics = block_metrics(params, hypers, block)
            total = metrics if total is None else merge((total, metrics))
        if total is None:
            raise ValueError("evaluate: the batch has no windows")
        return total

    return evaluate


def make_program(
    task: Task,
    objective: Objective,
    optimizer: OptimizerConfig,
    hypers: Hypers,
    *,
    run_axis: RunAxis = "vmap",
    eval_tokens: int = 4096,
    uses_dropout: bool = False,
) -> Program:
    """Bind a task, an objective and an optimizer to the runs of one training.

    Args:
        task: where batches come from; its training set is drawn here, on the device.
        objective: model and loss.
        optimizer: what all runs share of their optimizer.
        hypers: what differs between runs; R is their number.
        run_axis: see ``over_runs``.
        eval_tokens: tokens evaluated at once (bounds memory; does not change results).
        uses_dropout: whether the model is given a key during training.
    """

    def init_run(hypers: Hypers, _: None) -> tuple[Params, Params]:
        params = objective.model.init(run_key(hypers))
        return params, make_optimizer(optimizer, hypers).init(params)

    def init() -> TrainState:
        params, opt_state = jax.jit(over_runs(init_run, run_axis))(hypers, None)
        return TrainState(jnp.int32(0), params, opt_state)

    return Program(
        init=init,
        advance=_make_advance(task, objective, optimizer, hypers, run_axis, uses_dropout),
        evaluate=_make_evaluate(objective, hypers, run_axis, eval_tokens),
        hypers=hypers,
        group_names=task.group_names,
    )
