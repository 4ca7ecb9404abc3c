"""Checks of a task, model or loss of the user's own, on shapes, before anything is compiled.

Methods of the package are tested instead, and are not traced here.
"""

import inspect
import traceback
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.losses import TokenStats, token_stats
from el_jax.process.errors import ConfigError, UserError
from el_jax.types import Batch, ModelFns

_TASK_MEMBERS = (
    *("group_names", "vocab_size", "window_length", "answer_length", "labels_follow"),
    *("train_set", "test_set", "pack", "batch_at"),
)


def is_own(method: Any) -> bool:
    """True for a class or function that is not of this package."""
    module = getattr(method, "__module__", None) or ""  # partial objects have none
    return not module.startswith("el_jax.")


def check_task(name: str, task: Any) -> None:
    """Trace a task of the user's own.

    Raises:
        ConfigError: it lacks a member, fails, or its batches have other shapes than ``Batch`` says.
    """
    if not is_own(type(task)):
        return
    what = f"config.task.name={name!r}"
    missing = [member for member in _TASK_MEMBERS if not hasattr(task, member)]
    if missing:
        raise ConfigError(
            f"{what}: {type(task).__name__} has no {', '.join(missing)}; a task has "
            f"{', '.join(_TASK_MEMBERS)} (see el_jax.tasks.Task)"
        )
    key, asked = jax.random.key(0), task.answer_length
    train_set = _trace(what, type(task), task.train_set)
    batches = {
        "batch_at": _trace(what, type(task), lambda data: task.batch_at(data, 0, key), train_set),
        "pack": _trace(what, type(task), task.pack, train_set),
    }
    for method, batch in batches.items():
        _check_batch(f"{what}: {method}", batch, asked)


def check_model(name: str, function: Any, model: ModelFns, batch: Batch, num_classes: int) -> None:
    """Trace a model of the user's own on a batch of shapes.

    Raises:
        ConfigError: it fails, or does not return logits at the supervised positions.
    """
    if not is_own(function):
        return
    what = f"config.model.name={name!r}"
    params = _trace(what, function, model.init, jax.random.key(0))
    logits = _trace(what, function, model.apply, params, batch)
    _require(
        f"{what}: apply returns",
        logits,
        jnp.floating,
        (*batch.labels.shape, num_classes),
        ", the logits [B, P, V] at the supervised positions alone",
    )


def check_loss(
    name: str, loss: Callable[..., Array], keywords: Any, batch: Batch, num_classes: int
) -> None:
    """Trace a loss of the user's own on the statistics of a batch of shapes.

    Raises:
        ConfigError: it fails, or does not return one number a token.
    """
    if not is_own(loss):
        return
    what = f"config.loss.name={name!r}"
    logits = jax.ShapeDtypeStruct((*batch.labels.shape, num_classes), "float32")
    values = _trace(
        what, loss, lambda f, k: loss(token_stats(f, k), **keywords), logits, batch.labels
    )
    _require(
        f"{what}: returns",
        values,
        jnp.floating,
        batch.labels.shape,
        ", one number for each token [B, P]; the training takes the mean",
    )


def _trace(what: str, method: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return jax.eval_shape(function, *arguments)
    except UserError:
        raise
    except Exception as error:
        told = next(iter(str(error).splitlines()), "")
        if isinstance(error, AttributeError) and "TokenStats" in told:
            told += f"; it has {', '.join(TokenStats._fields)}"
        raise ConfigError(
            f"{what}: {type(error).__name__}: {told}{_where(error, method)}"
        ) from error


def _where(error: Exception, method: Any) -> str:
    """The line of the user's file at which an error was raised."""
    try:
        file = inspect.getfile(inspect.unwrap(method))
    except TypeError:
        return ""
    lines = [at.lineno for at in traceback.extract_tb(error.__traceback__) if at.filename == file]
    return f" ({file}, line {lines[-1]})" if lines else ""


def _check_batch(what: str, batch: Any, answer_length: int) -> None:
    if not isinstance(batch, Batch):
        raise ConfigError(f"{what} returns {type(batch).__name__}: must be an el_jax.types.Batch")
    if batch.tokens.ndim != 2 or batch.supervised.ndim != 2:
        raise ConfigError(
            f"{what} returns tokens {_shown(batch.tokens)} and supervised "
            f"{_shown(batch.supervised)}: must be int32[B, T] and int32[B, P]"
        )
    windows, asked = batch.supervised.shape
    _require(f"{what} returns tokens", batch.tokens, jnp.integer, (windows, batch.tokens.shape[1]))
    for field in ("supervised", "labels", "groups", "mask"):
        kind = jnp.bool_ if field == "mask" else jnp.integer
        _require(f"{what} returns {field}", getattr(batch, field), kind, (windows, asked))
    if asked % answer_length:
        raise ConfigError(
            f"{what} supervises {asked} tokens of a window: must be a multiple of "
            f"answer_length={answer_length}"
        )


def _require(what: str, value: Any, kind: Any, shape: tuple[int, ...], why: str = "") -> None:
    dtype = getattr(value, "dtype", None)
    if dtype is None or not jnp.issubdtype(dtype, kind) or value.shape != shape:
        name = {jnp.floating: "float32", jnp.integer: "int32", jnp.bool_: "bool"}[kind]
        wanted = _shown(jax.ShapeDtypeStruct(shape, name))
        raise ConfigError(f"{what} {_shown(value)}: must be {wanted}{why}")


def _shown(value: Any) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        return type(value).__name__
    return f"{dtype}[{','.join(map(str, shape))}]"
