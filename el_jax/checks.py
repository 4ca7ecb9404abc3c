"""Shape checks of a training, before anything is compiled and before its folder is made.

The first check makes the task's world or reads its text. A user's own tasks, models and losses are
traced one by one, since a wrong shape can broadcast silently; ours are covered by tests.
"""

import contextlib
import functools
import inspect
import traceback
from collections.abc import Iterator
from typing import Any

import jax

from el_jax.config.sections import choose, kinds_of
from el_jax.config.training import Settings
from el_jax.losses import ALL_LOSSES, BATCH_LOSSES, TokenStats, token_stats
from el_jax.models import MODELS
from el_jax.process import target
from el_jax.process.errors import ConfigError, DataError, UserError
from el_jax.tasks import MaskedWords, PathStar, Task
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


@functools.lru_cache(maxsize=4)  # a sweep checks many trainings on the same sentences
def _shapes_of_split(task: Task, num: int) -> Batch:
    return jax.eval_shape(lambda: task.pack(task.test_set(num)))


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
        _shapes_of_split(task, num)
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


@contextlib.contextmanager
def _named(what: str, method: Any, given: str = "") -> Iterator[None]:
    """Name a user's own method that raises, and the line of its file, in one line."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        file = inspect.getsourcefile(inspect.unwrap(method))
        frames = [at for at in traceback.extract_tb(error.__traceback__) if at.filename == file]
        where = f" ({file}, line {frames[-1].lineno})" if frames else ""
        told = next(iter(str(error).splitlines()), "")
        raise ConfigError(f"{what}: {type(error).__name__}: {told}{where}{given}") from error


def _check_own_task(task: Task) -> None:
    """Compare the shapes of the batches of a user's own task."""
    with _named(f"config.task: {type(task).__name__}", type(task)):
        train_set = jax.eval_shape(task.train_set)
        batches = {
            "batch_at": jax.eval_shape(lambda d: task.batch_at(d, 0, jax.random.key(0)), train_set),
            "pack": jax.eval_shape(task.pack, train_set),
        }
    for method, batch in batches.items():
        what = f"config.task: {type(task).__name__}.{method} returns"
        if not isinstance(batch, Batch):
            raise ConfigError(f"{what} {_shown(batch)}: must be an el_jax.types.Batch")
        for field in ("labels", "groups", "mask"):
            _check_shape(f"{what} {field}", getattr(batch, field), batch.supervised.shape)
        if batch.mask.dtype != bool:
            raise ConfigError(f"{what} mask {_shown(batch.mask)}: must be bool")


def _check_own_model(settings: Settings, batch: Batch) -> None:
    """Compare the shape of the logits of a user's own model with a batch's labels."""
    name = settings.model.name
    if not _is_own(MODELS[name]):
        return
    with _errors_of("config.model: "):
        model = MODELS[name](settings.model_config)
    what = f"config.model.name={name!r}"
    with _named(what, MODELS[name]):
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
    if not _is_own(loss):
        return
    what = f"config.loss.name={name!r}"
    logits = jax.ShapeDtypeStruct((*batch.labels.shape, settings.task.vocab_size), "float32")
    stats = jax.eval_shape(token_stats, logits, batch.labels)
    given = f"TokenStats ({', '.join(TokenStats._fields)}){', a mask' * len(masks)}"
    with _named(what, loss, f"; it is called with {', '.join([given, *keywords])}"):
        values = jax.eval_shape(lambda stats, *mask: loss(stats, *mask, **keywords), stats, *masks)
    _check_shape(
        f"{what}: returns",
        values,
        batch.labels.shape,
        ", one number for each token [B, P]; the training takes the mean",
    )


def _check_shape(what: str, value: Any, shape: tuple[int, ...], why: str = "") -> None:
    if getattr(value, "shape", None) != shape:
        raise ConfigError(f"{what} {_shown(value)}: must be of shape {list(shape)}{why}")


def _shown(value: Any) -> str:
    if not hasattr(value, "dtype"):
        return type(value).__name__
    return f"{value.dtype}{list(value.shape)}"
