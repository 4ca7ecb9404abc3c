"""Checks of a training, before it is compiled and before its folder is made.

The first check makes the task's world or reads its text.
"""

import contextlib
import functools
from collections.abc import Iterator

import jax

from el_jax.config.sections import choose, kinds_of
from el_jax.config.training import Settings
from el_jax.losses import BATCH_LOSSES
from el_jax.own_methods import check_own_methods, check_own_task, is_own, named
from el_jax.process import target
from el_jax.process.errors import ConfigError, DataError
from el_jax.tasks import MaskedWords, PathStar, Task
from el_jax.training.layout import Layout, choose_layout
from el_jax.types import Batch
from el_jax.worlds import World, WorldChoice


def checked(settings: Settings) -> Settings:
    """Return the settings if their parts fit each other and the devices.

    Raises:
        ConfigError: one line that names the dotted field, its value and the allowed ones.
    """
    task = settings.task
    _check_worlds(task)
    if is_own(type(task)):
        check_own_task(task)
    with _errors_of("config.task."):
        _, batch = task.vocab_size, shapes_of_update(task)
    for split, num in settings.evaluations.items():
        _check_evaluation(task, split, num)
        _check_name(settings, split)
    _check_both_sides(settings)
    _check_labels(settings)
    layout_of(settings)
    check_own_methods(settings, batch)
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
        if kind is not WorldChoice:
            continue
        choice = getattr(task, key)
        try:
            method = choice.function or WorldChoice  # ours, or the user's
            with named(f"config.task.world.name={choice.name!r}", method, ValueError, OSError):
                world = choice.make()
        except ConfigError:
            raise
        except ValueError as error:
            raise ConfigError(f"config.task.world.{error}") from error
        except OSError as error:
            line = f"config.task.world: {error.filename}: {error.strerror}"
            raise ConfigError(line) from error
        if not isinstance(world, World):
            kind = type(world).__name__
            raise ConfigError(f"config.task.world.name={choice.name!r}: gives {kind}, not a World")


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
        with named(f"config.task: {type(task).__name__}", type(task), ValueError):
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
