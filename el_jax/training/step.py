"""The training step: one update of one run, its policy on numbers that are not finite, the loop.

``update`` is the step. It knows no devices, no seeds beside its own and no second run: ``program``
computes it for all runs, on all devices.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float, Int

from el_jax.training.moments import Moments, pool_tree, single
from el_jax.training.objectives import Objective
from el_jax.training.state import Health, Hypers, Run, order_key, run_key
from el_jax.types import Batch, Key, Params

Metrics = dict[str, Moments]
Learnt: TypeAlias = Any  # what a gradient takes: a Batch, or more beside it


class Measured(NamedTuple):
    """Measurements of one update.

    Attributes:
        of_tokens: moments of per-token quantities by group, each ``[num_groups]``; if a batch is
            split over devices, of this device's windows only.
        of_update: moments of whole-update quantities.
        norms: loss, and norms of gradient and parameter update, in the order of ``BAD_PARTS``.
    """

    of_tokens: Metrics
    of_update: Metrics
    norms: Float[Array, "3"]


Loss = Callable[..., Any]  # of (params, batch, ...)
# (params, batch, hypers, key of dropout) -> ((loss, gradient), moments of the metrics)
Gradient = Callable[..., tuple[tuple[Array, Params], Metrics]]


def gradient_of(
    objective: Objective, within: Callable[[Loss], Loss] = lambda loss: loss
) -> Gradient:
    """The gradient of an objective over all windows of a batch, on one device.

    Args:
        objective: the objective.
        within: wraps its loss, before the derivative is taken.
    """
    loss_of = within(objective.loss)

    def gradient(
        params: Params, batch: Batch, hypers: Hypers, key: Key, num_supervised: Array | None = None
    ) -> tuple[tuple[Array, Params], Metrics]:
        (loss, outputs), grads = jax.value_and_grad(loss_of, has_aux=True)(
            params, batch, hypers.loss, key, num_supervised
        )
        return (loss, grads), objective.measure(outputs, batch, hypers.loss)

    return gradient


def update(
    run: Run,
    step: Int[Array, ""],
    batch: Learnt,
    hypers: Hypers,
    *,
    gradient: Gradient,
    optimizer: Callable[[Hypers], optax.GradientTransformation],
) -> tuple[Run, Measured]:
    """One update of one run.

    Args:
        run: parameters and optimizer state.
        step: number of earlier updates; with the run's seed it gives the key of dropout.
        batch: the windows to learn from, as ``gradient`` takes them.
        hypers: the run's own numbers.
        gradient: the gradient of the objective.
        optimizer: function from a run's numbers to its optimizer.
    """
    key = jax.random.fold_in(run_key(hypers), step)
    (loss, grads), of_tokens = gradient(run.params, batch, hypers, key)
    updates, opt_state = optimizer(hypers).update(grads, run.opt_state, run.params)
    after = run._replace(params=optax.apply_updates(run.params, updates), opt_state=opt_state)
    # a norm is finite only if every entry is: three numbers tell the health of an update
    norms = jnp.stack([loss, optax.tree.norm(grads), optax.tree.norm(updates)])
    return after, Measured(of_tokens, _named(norms), norms)


def _named(norms: Array) -> Metrics:
    return {"grad_norm": single(norms[1]), "update_norm": single(norms[2])}


Step = Callable[[Run, Int[Array, ""], Learnt, Hypers], tuple[Run, Measured]]
GuardedStep = Callable[[Run, Run, Int[Array, ""], Learnt, Hypers], tuple[Run, Measured]]


def guarded(step_of: Step, max_rewinds: int) -> GuardedStep:
    """Add the policy on updates that are not finite: such an update is never applied.

    Up to ``max_rewinds`` times such an update sets the run back to ``start``, its state at the
    beginning of the dispatch, and the run goes on with the next batch. One more stops it for good.
    """

    def guarded_step(
        run: Run, start: Run, step: Array, batch: Learnt, hypers: Hypers
    ) -> tuple[Run, Measured]:
        after, measured = step_of(run, step, batch, hypers)
        health = _judge(run.health, step, jnp.isfinite(measured.norms), max_rewinds)
        going_on = (health.stopped_at < 0) & (health.last_bad != step)
        held = run._replace(health=health)
        if max_rewinds:
            rewound = health.rewinds > run.health.rewinds
            held = _where(rewound, start._replace(health=health), held)
        return _where(going_on, after._replace(health=health), held), measured

    return guarded_step


def _where(condition: Array, ours: Run, theirs: Run) -> Run:
    # A select, not arithmetic: 0 * NaN is NaN. Not lax.cond: under vmap that computes both sides.
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), ours, theirs)


def _judge(health: Health, step: Array, finite: Array, max_rewinds: int) -> Health:
    """The health of a run after an update, given ``finite [3]`` for each of its ``BAD_PARTS``."""
    bad = ~finite.all() & (health.stopped_at < 0)
    rewound = bad & (health.rewinds < max_rewinds)
    return Health(
        stopped_at=jnp.where(bad & ~rewound, step, health.stopped_at),
        rewinds=health.rewinds + rewound,
        last_bad=jnp.where(bad, step, health.last_bad),
        bad_part=jnp.where(bad, jnp.argmin(finite).astype(jnp.int32), health.bad_part),
    )


def epoch(
    step_of: GuardedStep,
    batch_at: Callable[[object, Array, Key], Learnt],
    pool_over_devices: Callable[[Metrics], Metrics],
) -> Callable[[tuple[Run, Hypers], tuple[Array, object]], tuple[Run, Metrics]]:
    """Loop over the updates of a dispatch and pool their metrics.

    Args:
        step_of: the guarded step.
        batch_at: ``batch_at(data, step, key)``, the batch of an update; the key is the run's.
        pool_over_devices: function from the moments of one device's windows to those of all.

    Returns:
        ``((run, hypers), (steps, data)) -> (run, metrics)``.
    """

    def one_run(args: tuple[Run, Hypers], shared: tuple[Array, object]) -> tuple[Run, Metrics]:
        (start, hypers), (steps, data) = args, shared
        key = order_key(hypers)

        def body(run: Run, step: Array) -> tuple[Run, tuple[Metrics, Metrics]]:
            run, measured = step_of(run, start, step, batch_at(data, step, key), hypers)
            return run, (measured.of_tokens, measured.of_update)

        run, (of_tokens, of_update) = jax.lax.scan(body, start, steps)
        # over devices once a dispatch, not once an update: fewer messages between them
        return run, pool_over_devices(pool_tree(of_tokens)) | pool_tree(of_update)

    return one_run
