"""The training step: one update of one run, the policy on non-finite numbers, and the loop.

``update`` is the step. It sees one run with one seed and no devices; ``program`` computes it for
all runs on all devices.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float, Int

from el_jax.training.moments import pool_tree, single
from el_jax.training.objectives import Metrics, Objective
from el_jax.training.state import Health, Hypers, Run, order_key, run_key
from el_jax.types import Params


class Measured(NamedTuple):
    """Measurements of one update.

    Attributes:
        of_tokens: moments of per-token quantities by group, from ``objective.loss``.
        norms: the loss and the norms of gradient and parameter update, ordered as ``BAD_PARTS``.
    """

    of_tokens: Metrics
    norms: Float[Array, "3"]


def update(
    run: Run,
    step: Int[Array, ""],
    data: Any,
    hypers: Hypers,
    *,
    objective: Objective,
    optimizer: Callable[[Hypers], optax.GradientTransformationExtraArgs],
) -> tuple[Run, Measured]:
    """Make one update of one run.

    Args:
        run: parameters, optimizer state, and what the objective remembers.
        step: number of earlier updates; with the run's seed it determines the dropout key.
        data: the training set, from which the objective reads a batch.
        hypers: the run's own numbers.
        objective: batch, loss and metrics.
        optimizer: function from a run's numbers to its optimizer. Besides gradient and parameters
            the optimizer gets ``loss_of`` (for SAM) and a ``key`` (for noise).
    """
    key = jax.random.fold_in(run_key(hypers), step)
    batch = objective.batch_at(data, step, order_key(hypers))

    def loss_of(params: Params) -> tuple[Array, tuple[Metrics, Any]]:
        return objective.loss(params, batch, run.memory, hypers.loss, key)

    (loss, (metrics, memory)), grads = jax.value_and_grad(loss_of, has_aux=True)(run.params)
    further = {"loss_of": loss_of, "key": jax.random.fold_in(key, 1)}
    updates, opt_state = optimizer(hypers).update(grads, run.opt_state, run.params, **further)
    params = optax.apply_updates(run.params, updates)
    after = run._replace(params=params, opt_state=opt_state, memory=memory)
    # a norm is finite only if every entry is, so three numbers show whether the update is finite
    norms = jnp.stack([loss, optax.tree.norm(grads), optax.tree.norm(updates)])
    return after, Measured(metrics, norms)


Step = Callable[[Run, Int[Array, ""], Any, Hypers], tuple[Run, Measured]]


def guarded(step_of: Step) -> Step:
    """Stop a run for good at its first non-finite update, which is never applied."""

    def guarded_step(run: Run, step: Array, data: Any, hypers: Hypers) -> tuple[Run, Measured]:
        after, measured = step_of(run, step, data, hypers)
        finite = jnp.isfinite(measured.norms)  # one entry for each of BAD_PARTS
        bad = ~finite.all() & (run.health.stopped_at < 0)
        health = Health(
            stopped_at=jnp.where(bad, step, run.health.stopped_at),
            bad_part=jnp.where(bad, jnp.argmin(finite).astype(jnp.int32), run.health.bad_part),
        )
        # A select, not arithmetic: 0 * NaN is NaN. Not lax.cond: under vmap both are computed.
        kept = jax.tree.map(lambda new, old: jnp.where(health.stopped_at < 0, new, old), after, run)
        return kept._replace(health=health), measured

    return guarded_step


def epoch(
    step_of: Step, pool_over_devices: Callable[[Metrics], Metrics], stop_at_ce: float = 0.0
) -> Callable[[tuple[Run, Hypers], tuple[Array, Any]], tuple[Run, Metrics]]:
    """Loop over the updates of one dispatch (one call of the program) and pool their metrics.

    Args:
        step_of: the guarded step.
        pool_over_devices: see ``Objective``.
        stop_at_ce: stop a run after a dispatch whose mean cross-entropy is at most this; 0: never.

    Returns:
        ``((run, hypers), (steps, data)) -> (run, metrics)``.
    """

    def one_run(args: tuple[Run, Hypers], shared: tuple[Array, Any]) -> tuple[Run, Metrics]:
        (start, hypers), (steps, data) = args, shared

        def body(run: Run, step: Array) -> tuple[Run, tuple[Metrics, Metrics]]:
            run, measured = step_of(run, step, data, hypers)
            _, grad_norm, update_norm = measured.norms
            of_update = {"grad_norm": single(grad_norm), "update_norm": single(update_norm)}
            return run, (measured.of_tokens, of_update)

        run, (of_tokens, of_update) = jax.lax.scan(body, start, steps)
        # pooled over devices once per dispatch, not per update, to send fewer messages
        metrics = pool_over_devices(pool_tree(of_tokens)) | pool_tree(of_update)
        if stop_at_ce:
            ce = metrics["ce"]
            reached = (ce.num * ce.mean).sum() <= stop_at_ce * ce.num.sum()
            reached &= (run.health.stopped_at < 0) & (ce.num.sum() > 0)
            stopped_at = jnp.where(reached, steps[-1] + 1, run.health.stopped_at)
            run = run._replace(health=run.health._replace(stopped_at=stopped_at))
        return run, metrics

    return one_run
