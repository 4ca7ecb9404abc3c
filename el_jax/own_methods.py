"""Checks of a user's own methods: each is tried alone, before a training is compiled.

A wrong shape can broadcast silently, and an index out of range is clipped. Ours are covered by
tests.
"""

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from el_jax.config.training import Settings
from el_jax.losses import ALL_LOSSES, BATCH_LOSSES, TokenStats, token_stats
from el_jax.models import MODELS
from el_jax.numbers import numbers_of
from el_jax.process.compilation import Once
from el_jax.process.errors import ConfigError, UserError, place_of
from el_jax.tasks import Task
from el_jax.training.optimizers import OPTIMIZERS, make_optimizer
from el_jax.training.optimizers.schedules import SCHEDULES
from el_jax.training.state import Hypers
from el_jax.types import Batch, Key, Params
from el_jax.weighting import GROUP_WEIGHTINGS, WEIGHTINGS


def check_own_methods(settings: Settings, batch: Batch) -> None:
    """Try a user's own loss, model, schedule, optimizer and weighting.

    Args:
        settings: names them.
        batch: the shapes of the windows in one update.

    Raises:
        ConfigError: names the method and, where it raises, the line of its file.
    """
    _check_own_loss(settings, batch)
    _check_own_model(settings, batch)
    _check_own_schedule(settings)
    _check_own_optimizer(settings)
    _check_own_weighting(settings, batch)


def is_own(method: Any) -> bool:
    """True for a class or function from outside this package."""
    module = getattr(method, "__module__", None) or ""  # partial objects have none
    return not module.startswith("el_jax.")


@contextlib.contextmanager
def named(what: str, method: Any, *passed: type[Exception], given: str = "") -> Iterator[None]:
    """Name a user's own method that raises, and the line of its file; ours keep their traceback."""
    try:
        yield
    except Exception as error:
        if not is_own(method) or isinstance(error, (UserError, *passed)):
            raise
        where = place_of(error, inspect.getsourcefile(inspect.unwrap(method)) or "")
        told = next(iter(str(error).splitlines()), "")
        raise ConfigError(f"{what}: {type(error).__name__}: {told}{where}{given}") from error


def check_own_task(task: Task) -> None:
    """Compare the shapes of the batches of a user's own task."""
    with named(f"config.task: {type(task).__name__}", type(task)):
        train_set = jax.eval_shape(task.train_set)
        batches = {
            "batch_at": jax.eval_shape(lambda d: task.batch_at(d, 0, jax.random.key(0)), train_set),
            "pack": jax.eval_shape(task.pack, train_set),
        }
        first = Once(lambda: task.batch_at(task.train_set(), 0, jax.random.key(0)))()
    for method, batch in batches.items():
        what = f"config.task: {type(task).__name__}.{method} returns"
        if not isinstance(batch, Batch):
            raise ConfigError(f"{what} {_shown(batch)}: must be an el_jax.types.Batch")
        for field in ("labels", "groups", "mask"):
            _check_shape(f"{what} {field}", getattr(batch, field), batch.supervised.shape)
        if batch.mask.dtype != bool:
            raise ConfigError(f"{what} mask {_shown(batch.mask)}: must be bool")
    _check_values(task, jax.tree.map(np.asarray, first))


def _check_values(task: Task, batch: Batch) -> None:
    """Raise for indices that jax would clip silently, in the first batch of a user's own task."""
    what = f"config.task: {type(task).__name__}.batch_at returns"
    if not batch.mask.any():
        raise ConfigError(f"{what} a mask that is False everywhere: nothing is supervised")
    window, vocab, groups = batch.tokens.shape[1], task.vocab_size, len(task.group_names)
    sizes = {"tokens": vocab, "supervised": window, "labels": vocab, "groups": groups}
    for field, size in sizes.items():
        values = getattr(batch, field)
        values = values if field == "tokens" else values[batch.mask]
        wrong = values[(values < 0) | (values >= size)]
        if wrong.size:
            raise ConfigError(f"{what} {field} with {wrong[0]}: must be in 0 .. {size - 1}")


def _check_own_model(settings: Settings, batch: Batch) -> None:
    """Compare the shape of the logits of a user's own model with a batch's labels."""
    name = settings.model.name
    if not is_own(MODELS[name]):
        return
    try:
        model = MODELS[name](settings.model_config)
    except ValueError as error:
        raise ConfigError(f"config.model: {error}") from error
    what = f"config.model.name={name!r}"
    with named(what, MODELS[name]):
        logits = jax.eval_shape(
            lambda key, batch: model.apply(model.init(key), batch), jax.random.key(0), batch
        )
    _check_shape(
        f"{what}: apply returns",
        logits,
        (*batch.labels.shape, settings.task.vocab_size),
        ", the logits [B, P, V] at the supervised positions alone",
    )


def _check_own_loss(settings: Settings, batch: Batch) -> None:
    """Compare the shape of the values of a user's own loss with a batch's labels."""
    name, keywords = settings.loss.name, settings.runs[0].loss | settings.loss.options
    loss, masks = ALL_LOSSES[name], (batch.mask,) * (name in BATCH_LOSSES)
    if not is_own(loss):
        return
    what = f"config.loss.name={name!r}"
    logits = jax.ShapeDtypeStruct((*batch.labels.shape, settings.task.vocab_size), "float32")
    stats = jax.eval_shape(token_stats, logits, batch.labels)
    given = f"TokenStats ({', '.join(TokenStats._fields)}){', a mask' * len(masks)}"
    with named(what, loss, given=f"; it is called with {', '.join([given, *keywords])}"):
        values = jax.eval_shape(lambda stats, *mask: loss(stats, *mask, **keywords), stats, *masks)
    _check_shape(
        f"{what}: returns",
        values,
        batch.labels.shape,
        ", one number for each token [B, P]; the training takes the mean",
    )


def _check_own_schedule(settings: Settings) -> None:
    """Evaluate a user's own schedule at five points."""
    name = settings.optimizer.schedule
    if not is_own(SCHEDULES[name]):
        return
    what = f"config.optim.schedule={name!r}: returns"
    numbers = {**settings.optimizer.numbers, **settings.runs[0].optimizer}
    own = {key: numbers[key] for key in numbers_of(SCHEDULES[name])}
    at = jnp.linspace(0.0, 1.0, 5)
    with named(f"config.optim.schedule={name!r}", SCHEDULES[name]):
        rates = jax.jit(jax.vmap(lambda elapsed: SCHEDULES[name](elapsed, **own)))(at)
    _check_shape(what, rates, at.shape, " for 5 times: one fraction of the peak for each")
    if not (rates >= 0).all():
        raise ConfigError(f"{what} {rates.tolist()} from start to end: must be at least 0")


def _check_own_optimizer(settings: Settings) -> None:
    """Trace an update by a user's own optimizer."""
    name = settings.optimizer.name
    if not is_own(OPTIMIZERS[name]):
        return

    def updated(key: Key) -> Params:
        numbers = jax.tree.map(jnp.asarray, settings.runs[0].optimizer)
        hypers = Hypers(jnp.uint32(0), {}, numbers)
        optimizer = make_optimizer(settings.optimizer, hypers)
        params = MODELS[settings.model.name](settings.model_config).init(key)
        further = {"loss_of": lambda params: (optax.tree.sum(params), ({}, ())), "key": key}
        updates, _ = optimizer.update(params, optimizer.init(params), params, **further)
        return optax.apply_updates(params, updates)

    with named(f"config.optim.name={name!r}", OPTIMIZERS[name]):
        jax.eval_shape(updated, jax.random.key(0))


def _check_own_weighting(settings: Settings, batch: Batch) -> None:
    """Compare the shape of the weights of a user's own weighting with the number of windows."""
    choice = settings.weighting
    if choice is None or choice.name in GROUP_WEIGHTINGS or not is_own(WEIGHTINGS[choice.name]):
        return
    what, weigh = f"config.weighting.name={choice.name!r}", WEIGHTINGS[choice.name]
    losses = jax.ShapeDtypeStruct(batch.labels.shape[:1], "float32")
    with named(what, weigh):
        weights = jax.eval_shape(lambda losses: weigh(losses, **choice.numbers), losses)
    _check_shape(f"{what}: returns", weights, losses.shape, ", one weight for each window")


def _check_shape(what: str, value: Any, shape: tuple[int, ...], why: str = "") -> None:
    if getattr(value, "shape", None) != shape:
        raise ConfigError(f"{what} {_shown(value)}: must be of shape {list(shape)}{why}")


def _shown(value: Any) -> str:
    if not hasattr(value, "dtype"):
        return type(value).__name__
    return f"{value.dtype}{list(value.shape)}"
