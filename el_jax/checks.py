"""Shape checks of a training, before anything is compiled and before its folder is made.

The first check makes the task's world or reads its text. A user's own tasks, models and losses are
traced one by one; ours are covered by tests.
"""

import contextlib
import functools
import inspect
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from el_jax.config.sections import choose, kinds_of
from el_jax.config.training import Settings
from el_jax.losses import ALL_LOSSES, BATCH_LOSSES, TokenStats, token_stats
from el_jax.models import MODELS
from el_jax.process import target
from el_jax.process.errors import ConfigError, DataError, UserError
from el_jax.tasks import TASKS, MaskedWords, PathStar, Task
from el_jax.training.layout import Layout, choose_layout
from el_jax.types import Batch
from el_jax.worlds import WorldChoice


def checked(settings: Settings) -> Settings:
    """Return the settings if their parts fit each other and the devices.

    Raises:
        ConfigError: one line that names the dotted field, its value and the allowed ones.
    """
    task = settings.task
    _check_worlds(task)
    if _is_own(type(task)):
        _check_own_task(task)
    with _errors_of("config.task."):
        _, batch = task.vocab_size, shapes_of_update(task)
    for split, num in settings.evaluations.items():
        _check_evaluation(task, split, num)
        _check_name(settings, split)
    _check_both_sides(settings)
    _check_labels(settings)
    layout_of(settings)
    _check_own_loss(settings, batch)
    _check_own_model(settings, batch)
    return settings


def layout_of(settings: Settings) -> Layout:
    """The distribution of runs or windows over the devices.

    Raises:
        ConfigError: they cannot be divided among the devices as the config says.
    """
    train, windows = settings.train, shapes_of_update(settings.task).tokens.shape[0]
    with _errors_of("config."):
        layout = choose_layout(settings.parallel, train.shard, len(settings.runs), windows)
    whole = {
        "config.adversary, whose head": settings.adversary,
        "config.weighting, which": settings.weighting,
        f"config.loss.name={settings.loss.name!r}, which": settings.loss.name in BATCH_LOSSES,
    }
    reasons = [f"{what} needs all windows on one device" for what, one in whole.items() if one]
    if not reasons or layout.data == 1:
        return layout
    alone = target.num_processes() == 1
    if train.shard == "auto" and alone:
        return Layout(reason=reasons[0])
    # of several processes each must have work
    allowed = "'auto', 'runs' or 'none'" if alone else "'runs' (the devices divide the runs)"
    raise ConfigError(f"config.train.shard={train.shard!r}: must be {allowed} with {reasons[0]}")


@functools.lru_cache(maxsize=4)
def shapes_of_update(task: Task) -> Batch:
    """The shapes of the windows in one update."""
    return jax.eval_shape(lambda: task.batch_at(task.train_set(), 0, jax.random.key(0)))


@contextlib.contextmanager
def _errors_of(prefix: str) -> Iterator[None]:
    """Prefix an error that begins with ``field=value`` with the name of its section."""
    try:
        yield
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"{prefix}{error}") from error


def _check_worlds(task: Task) -> None:
    for key, kind in kinds_of(type(task)).items():
        try:
            if kind is WorldChoice:
                getattr(task, key).make()
        except ValueError as error:
            raise ConfigError(f"config.task.world.{error}") from error
        except OSError as error:
            line = f"config.task.world: {error.filename}: {error.strerror}"
            raise ConfigError(line) from error


def _check_name(settings: Settings, split: str) -> None:
    """Raise if a split is named like a group of another: two metrics would share a name."""
    for other in ("train", "batch", *settings.evaluations):
        if split in [f"{other}_{group}" for group in settings.task.group_names]:
            raise ConfigError(
                f"config.eval.{split}: choose another name, since the metrics of {other} have one "
                f"for the group {split.removeprefix(f'{other}_')}"
            )


def _check_evaluation(task: Task, split: str, num: int) -> None:
    try:
        jax.eval_shape(lambda: task.pack(task.test_set(num)))
    except DataError as error:
        raise ConfigError(f"config.task.{error}") from error
    except ValueError as error:  # the examples do not fill whole windows
        raise ConfigError(f"config.eval.{split}={num}: {error}") from error


def _check_both_sides(settings: Settings) -> None:
    """Raise for masked diffusion with a model that cannot see the path after a hidden token."""
    task, model = settings.task, settings.model_config
    if isinstance(task, PathStar) and not task.labels_follow and getattr(model, "causal", True):
        raise ConfigError(
            f"config.task.teacher={task.teacher!r}: needs a model that sees both sides, such as "
            "config.model.causal=False, which configs/el/path_star.py:teacher=diffusion sets"
        )


def _check_labels(settings: Settings) -> None:
    """Raise unless the task's world has the labels that the config names."""
    task, adversary = settings.task, settings.adversary
    if isinstance(task, MaskedWords):
        with _errors_of("config.task."):
            _ = task.label_names
    if adversary is None:
        return
    if not isinstance(task, MaskedWords):
        raise ConfigError(f"config.adversary: needs the task masked, not {type(task).__name__}")
    choose("adversary.label", adversary.label, task.world.make().num_classes)


def _is_own(method: Any) -> bool:
    """True for a class or function from outside this package."""
    module = getattr(method, "__module__", None) or ""  # partial objects have none
    return not module.startswith("el_jax.")


def _check_own_task(task: Task) -> None:
    """Trace a user's own task."""
    kind = type(task)
    name = next((name for name, known in TASKS.items() if known is kind), kind.__name__)
    what = f"config.task.name={name!r}"
    key = jax.random.key(0)
    train_set = _trace(what, kind, task.train_set)
    batches = {
        "batch_at": _trace(what, kind, lambda data: task.batch_at(data, 0, key), train_set),
        "pack": _trace(what, kind, task.pack, train_set),
    }
    for method, batch in batches.items():
        _check_batch(f"{what}: {method}", batch, task.answer_length)


def _check_own_model(settings: Settings, batch: Batch) -> None:
    """Trace a user's own model on a batch of shapes."""
    name, config = settings.model.name, settings.model_config
    function = MODELS[name]
    if not _is_own(function):
        return
    what = f"config.model.name={name!r}"
    with _errors_of("config.model: "):
        model = function(config)
    params = _trace(what, function, model.init, jax.random.key(0))
    logits = _trace(what, function, model.apply, params, batch)
    _require(
        f"{what}: apply returns",
        logits,
        jnp.floating,
        (*batch.labels.shape, settings.task.vocab_size),
        ", the logits [B, P, V] at the supervised positions alone",
    )


def _check_own_loss(settings: Settings, batch: Batch) -> None:
    """Trace a user's own loss on the statistics of a batch of shapes."""
    name, keywords = settings.loss.name, settings.runs[0].loss | settings.loss.options
    loss = ALL_LOSSES[name]
    if not _is_own(loss):
        return
    what = f"config.loss.name={name!r}"
    logits = jax.ShapeDtypeStruct((*batch.labels.shape, settings.task.vocab_size), "float32")
    values = _trace(
        what,
        loss,
        lambda f, k, *mask: loss(token_stats(f, k), *mask, **keywords),
        logits,
        batch.labels,
        *(batch.mask,) * (name in BATCH_LOSSES),
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
