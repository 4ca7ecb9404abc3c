"""The objective as an update sees it: a batch, its loss, and the metrics measured of it."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
from jax import Array

from el_jax.training.moments import Moments
from el_jax.training.objectives import Objective
from el_jax.training.state import Hypers
from el_jax.types import Key, Params

Metrics = dict[str, Moments]
Learnt: TypeAlias = Any  # what a loss takes: a Batch, or more beside it
Loss = Callable[..., Any]  # of (params, batch, ...)
# (params, batch, hypers, key of dropout) -> ((loss, gradient), moments of the metrics)
Gradient = Callable[..., tuple[tuple[Array, Params], Metrics]]


class Learner(NamedTuple):
    """An objective as an update sees it; plain functions, which another objective may wrap.

    Attributes:
        batch_at: ``batch_at(data, step, key)``, what an update reads; the key is the run's.
        loss: ``loss(params, batch, hypers, key) -> (mean loss, outputs)``, nats.
        measure: ``measure(outputs, batch, hypers) -> moments of the metrics``.
    """

    batch_at: Callable[[Any, Array, Key], Learnt]
    loss: Callable[[Params, Learnt, Hypers, Key], tuple[Array, Any]]
    measure: Callable[[Any, Learnt, Hypers], Metrics]


def learner_of(objective: Objective, batch_at: Callable[[Any, Array, Key], Learnt]) -> Learner:
    """The learner of an objective over all windows of a batch, on one device."""
    return Learner(
        batch_at,
        lambda params, batch, hypers, key: objective.loss(params, batch, hypers.loss, key),
        lambda outputs, batch, hypers: objective.measure(outputs, batch, hypers.loss),
    )


def divided_learner(gradient: Gradient, batch_at: Callable[[Any, Array, Key], Learnt]) -> Learner:
    """The learner whose gradient is already summed over devices; its outputs are the moments.

    Autodiff must not go through that sum again: the transpose of a sum over devices is a sum over
    devices, which would count each gradient as often as there are devices.
    """

    @jax.custom_vjp
    def loss(params: Params, batch: Learnt, hypers: Hypers, key: Key) -> tuple[Array, Metrics]:
        (value, _), moments = gradient(params, batch, hypers, key)
        return value, moments

    def forwards(params: Params, batch: Learnt, hypers: Hypers, key: Key) -> Any:
        (value, grads), moments = gradient(params, batch, hypers, key)
        return (value, moments), grads

    def backwards(grads: Params, cotangents: tuple[Array, Metrics]) -> Any:
        scaled = jax.tree.map(lambda grad: (cotangents[0] * grad).astype(grad.dtype), grads)
        return scaled, None, None, None

    loss.defvjp(forwards, backwards)
    return Learner(batch_at, loss, lambda moments, *_: moments)


def gradient_of(
    objective: Objective, within: Callable[[Loss], Loss] = lambda loss: loss
) -> Gradient:
    """The gradient of an objective over the windows of one device, with its metrics.

    Args:
        objective: the objective.
        within: wraps its loss, before the derivative is taken.
    """
    loss_of = within(objective.loss)

    def gradient(
        params: Params, batch: Learnt, hypers: Hypers, key: Key, num_supervised: Array | None = None
    ) -> tuple[tuple[Array, Params], Metrics]:
        (loss, outputs), grads = jax.value_and_grad(loss_of, has_aux=True)(
            params, batch, hypers.loss, key, num_supervised
        )
        return (loss, grads), objective.measure(outputs, batch, hypers.loss)

    return gradient
