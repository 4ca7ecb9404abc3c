"""From a config to checked settings: the only reader of string names."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import jax
from ml_collections import ConfigDict

from el_jax.config.methods import (
    FutureChoice,
    LossChoice,
    Numbers,
    loss_kinds,
    optim_kinds,
    parse_future,
    parse_loss,
    parse_optimizer,
)
from el_jax.config.models import ModelChoice, model_kinds, parse_model
from el_jax.config.runs import RunNumbers, parse_runs
from el_jax.config.sections import (
    check_float32,
    choose,
    keys_and_values,
    kinds_of,
    missing_keys,
    section,
    shown,
    typed,
)
from el_jax.config.tasks import missing_world_keys, parse_task, task_keys
from el_jax.probes import PROBES
from el_jax.process.errors import ConfigError, require
from el_jax.process.imports import import_all
from el_jax.tasks import MaskedWords, Task
from el_jax.training.fit import FitOptions
from el_jax.training.layout import Layout, Method, Shard, choose_layout
from el_jax.training.objectives.adversary import Adversary
from el_jax.training.optimizers import OptimizerConfig
from el_jax.training.runs import RunAxis

__all__ = ["Config", "Numbers", "RunNumbers", "Settings", "identity", "parse"]

Config: TypeAlias = ConfigDict  # the result of a config file
SECTIONS = ("seed", "parallel", "task", "loss", "model", "optim", "train", "eval", "sweep")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainSection(FitOptions):
    """The train section of a config; see configs/el/copy.py for the meaning of each key."""

    seeds: int
    run_axis: RunAxis
    max_runs_at_once: int
    shard: Shard
    eval_tokens: int
    eval_last: tuple[str, ...]
    probes: tuple[str, ...]
    keep_checkpoints: int
    init_from: str
    tensorboard: bool

    def __post_init__(self) -> None:
        for name in ("seeds", "eval_tokens"):
            require(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        for name in ("max_runs_at_once", "keep_checkpoints"):
            require(name, getattr(self, name), getattr(self, name) >= 0, "at least 0")
        super().__post_init__()


@dataclasses.dataclass(frozen=True)
class Settings:
    """Validated settings; nothing is compiled or drawn yet.

    Attributes:
        task: the task.
        model: the network's name and dataclass.
        loss: the token loss.
        optimizer: the optimizer options that all runs share.
        train: the train section.
        evaluations: split name -> number of test examples.
        runs: the numbers of each run.
        layout: distribution of runs or windows over the available devices.
        imports: files and modules of the user that were executed first.
        adversary: the optional section of a term against a downstream label.
        future: the optional section of an objective on later tokens.
    """

    task: Task
    model: ModelChoice
    loss: LossChoice
    optimizer: OptimizerConfig
    train: TrainSection
    evaluations: dict[str, int]
    runs: tuple[RunNumbers, ...]
    layout: Layout
    imports: tuple[str, ...] = ()
    adversary: Adversary | None = None
    future: FutureChoice | None = None

    @property
    def rows(self) -> tuple[Numbers, ...]:
        """Seed and numbers of each run, by name; see ``RunNumbers.row``."""
        return tuple(run.row() for run in self.runs)


def parse(config: Config) -> Settings:
    """Read and check a config.

    Raises:
        ConfigError: one line that names the dotted field, its value and the allowed ones.
    """
    values = keys_and_values("", config.to_dict())
    if "problem" in values:
        raise ConfigError("--config: a linear problem's; `python -m el_jax.analyze_ntp` takes it")
    if "lanczos_steps" in values:
        raise ConfigError("--config: a measurement's; `python -m el_jax.measure` takes it")
    given = {"imports": values.pop("imports", ())}
    imports = typed("", given, {"imports": tuple[str, ...]})["imports"]
    import_all(imports)
    against, ahead = (values.pop(name, None) for name in ("adversary", "future"))
    _check_keys(values)
    task = parse_task(values["task"])
    train = section("train", values["train"], TrainSection)
    loss, optimizer = parse_loss(values["loss"]), parse_optimizer(values["optim"])
    runs = parse_runs(values["seed"], train.seeds, loss, optimizer, values["sweep"])
    _check_warmup(runs, train)
    evaluations = _evaluations(values["eval"], task)
    for name in train.eval_last:
        choose("train.eval_last", name, evaluations)
    for name in train.probes:
        choose("train.probes", name, PROBES)
    check_float32("config", values | {"adversary": against, "future": ahead})
    model = parse_model(values["model"], task)
    adversary = None if against is None else _adversary(against, task)
    whole = adversary is not None and values["parallel"] == "pmap"
    layout = _layout(values["parallel"], train, task, len(runs), whole=whole)
    return Settings(
        task=task,
        model=model,
        loss=loss,
        optimizer=optimizer.shared(train.num_updates, runs[0].optimizer),
        train=train,
        evaluations=evaluations,
        runs=runs,
        layout=layout,
        imports=imports,
        adversary=adversary,
        future=None if ahead is None else parse_future(ahead),
    )


def identity(config: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved config without what a resumed training may change: its length at a constant rate.

    Args:
        config: the config as plain values.
    """
    train, optim = config.get("train"), config.get("optim")
    if not isinstance(train, dict) or not isinstance(optim, dict):
        return dict(config)
    if optim.get("schedule") != "constant":
        return dict(config)
    kept = {key: value for key, value in train.items() if key != "num_updates"}
    return {**config, "train": kept}


def _check_keys(values: dict[str, Any]) -> None:
    """Raise one error for all keys that the sections lack."""
    missing = missing_keys("", values, SECTIONS)
    for name in ("task", "loss", "model", "optim", "train"):
        if name in values:
            given = keys_and_values(name, values[name])
            known = _known_keys(name, given)
            try:
                missing += missing_keys(name, given, known)
            except ConfigError as error:
                lacks = [f"config.{name}.{key}" for key in known if key not in given]
                raise ConfigError(f"{error}{_advice(lacks)}") from error
            missing += missing_world_keys(given) if name == "task" else []
    if missing:
        raise ConfigError(f"{', '.join(missing)}: missing; no default here{_advice(missing)}")


def _advice(missing: Iterable[str]) -> str:
    """Advice for a name that was overridden without the numbers that go with it."""
    arguments = {"loss": "loss", "optim": "optimizer", "model": "model", "task": "task"}
    sections = {key.split(".")[1] for key in missing}
    chosen = [argument for name, argument in arguments.items() if name in sections]
    if not chosen:
        return ""
    return f"; --config=FILE:{chosen[0]}=NAME fills the section with the numbers of NAME"


def _known_keys(name: str, given: dict[str, Any]) -> Iterable[str]:
    """The keys of a section; they depend on the method that it names."""
    if name == "train":
        return kinds_of(TrainSection)
    if "name" not in given:
        return [*given, "name"]  # without it nothing is known of the others
    if name == "task":
        return task_keys(given)
    kinds = {"loss": loss_kinds, "model": model_kinds, "optim": optim_kinds}
    return kinds[name](given["name"])


def _layout(
    parallel: Any, train: TrainSection, task: Task, num_runs: int, *, whole: bool
) -> Layout:
    """The layout; ``whole`` where each device needs all windows of an update."""
    methods: dict[str, Method] = {"jit": "jit", "pmap": "pmap"}
    method = choose("parallel", parallel, methods)
    windows = jax.eval_shape(
        lambda: task.batch_at(task.train_set(), 0, jax.random.key(0))
    ).tokens.shape[0]
    try:
        layout = choose_layout(method, train.shard, num_runs, windows)
    except ValueError as error:
        raise ConfigError(f"config.{error}") from error
    if not whole or layout.data == 1:
        return layout
    if train.shard == "auto":
        return Layout(reason="the head of config.adversary needs all examples on one device")
    raise ConfigError(
        f"config.train.shard={train.shard!r}: must be 'auto', 'runs' or 'none' with "
        "config.adversary by pmap, whose head needs all examples on one device"
    )


def _adversary(values: Any, task: Task) -> Adversary:
    """The term against a label, which the task's world must have."""
    adversary = section("adversary", values, Adversary)
    if not isinstance(task, MaskedWords):
        raise ConfigError(f"config.adversary: needs the task masked, not {type(task).__name__}")
    choose("adversary.label", adversary.label, task.world.make().num_classes)
    return adversary


def _check_warmup(runs: tuple[RunNumbers, ...], train: TrainSection) -> None:
    longest = max(run.optimizer["warmup_steps"] for run in runs)
    if longest > train.num_updates:
        raise ConfigError(
            f"config.optim.warmup_steps={longest}: must be at most "
            f"train.num_updates={train.num_updates}"
        )


def _evaluations(values: Any, task: Task) -> dict[str, int]:
    """Number of test examples of each split."""
    sizes = keys_and_values("eval", values)
    for name, num in sizes.items():
        if not re.fullmatch("[a-z][a-z0-9_]*", name) or name in ("train", "batch"):
            raise ConfigError(
                f"config.eval.{name}: must be a name of small letters, digits and _, and not train "
                "or batch"
            )
        if type(num) is not int or not 1 <= num < 2**31:
            raise ConfigError(f"config.eval.{name}={shown(num)}: must be an integer, at least 1")
        try:
            jax.eval_shape(lambda num=num: task.pack(task.test_set(num)))
        except ValueError as error:  # the examples do not fill whole windows
            raise ConfigError(f"config.eval.{name}={num}: {error}") from error
    return sizes
