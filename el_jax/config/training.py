"""From a config to checked settings: the only reader of string names."""

import dataclasses
import inspect
import itertools
import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
from ml_collections import ConfigDict

from el_jax.config.sections import (
    check_float32,
    check_keys,
    choose,
    keys_and_values,
    section,
    shown,
)
from el_jax.losses import TOKEN_LOSSES, Path
from el_jax.models import PRESETS, TransformerConfig
from el_jax.probes import PROBES
from el_jax.runtime.errors import ConfigError, require
from el_jax.tasks import TASKS, Task
from el_jax.training.devices.layout import Layout, Method, Shard
from el_jax.training.devices.layout_choice import choose_layout
from el_jax.training.devices.runs import RunAxis
from el_jax.training.fit import FitOptions
from el_jax.training.optimizers import OPTIMIZERS, OptimizerConfig

Config: TypeAlias = ConfigDict  # the result of a config file
Numbers: TypeAlias = dict[str, int | float]
MAX_RUNS = 100_000  # of one program
SECTIONS = ("seed", "parallel", "task", "loss", "model", "optim", "train", "eval", "sweep")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainSection(FitOptions):
    """The train section of a config; see configs/el/copy.py for the meaning of each key."""

    seeds: int
    max_rewinds: int
    run_axis: RunAxis
    max_runs_at_once: int
    shard: Shard
    reduce_groups: int
    eval_tokens: int
    eval_last: tuple[str, ...]
    probes: tuple[str, ...]
    tensorboard: bool

    def __post_init__(self) -> None:
        for name in ("seeds", "eval_tokens"):
            require(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        for name in ("max_rewinds", "reduce_groups", "max_runs_at_once"):
            require(name, getattr(self, name), getattr(self, name) >= 0, "at least 0")
        super().__post_init__()


@dataclasses.dataclass(frozen=True)
class SweepSection:
    """The sweep section of a config: values that replace a scalar, every combination of them."""

    lam: tuple[float, ...]
    b: tuple[float, ...]
    peak_lr: tuple[float, ...]
    warmup_steps: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class _Pace:
    """Optimizer numbers that may differ between runs."""

    peak_lr: float
    warmup_steps: int


_Range = tuple[str, Callable[[float], bool]]
_FROM_0: _Range = ("a number from 0", lambda value: value >= 0)
_POSITIVE: _Range = ("positive", lambda value: value > 0)
# allowed range of every number of a loss and of a run; infinity and NaN are refused before
_ALLOWED: dict[str, _Range] = {
    **dict.fromkeys(("lam", "b", "gamma", "alpha", "beta", "warmup_steps"), _FROM_0),
    **dict.fromkeys(("peak_lr", "logit_temperature", "temperature", "scale"), _POSITIVE),
    "smoothing": ("in [0, 1)", lambda value: 0 <= value < 1),
    "q": ("in (0, 1]", lambda value: 0 < value <= 1),
    "epsilon": ("at least -1", lambda value: value >= -1),  # below, poly1 rewards errors
    "target": ("a finite number", math.isfinite),
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """A config that was read and found good; nothing is compiled or drawn yet.

    Attributes:
        task: the task.
        model: the transformer.
        loss_name: key of ``TOKEN_LOSSES``.
        loss_options: the loss's string options.
        logit_temperature: logits are divided by it.
        loss_path: implementation of the loss; "auto" is ``losses.choose_path``.
        optimizer: the optimizer options that all runs share.
        train: the train section.
        evaluations: split name -> number of test examples.
        runs: one dict per run: seed, peak_lr, warmup_steps and the loss's numbers.
        layout: distribution of runs or windows over the available devices.
    """

    task: Task
    model: TransformerConfig
    loss_name: str
    loss_options: dict[str, str]
    logit_temperature: float
    loss_path: Path
    optimizer: OptimizerConfig
    train: TrainSection
    evaluations: dict[str, int]
    runs: tuple[Numbers, ...]
    layout: Layout


def parse(config: Config) -> Settings:
    """Read and check a config.

    Raises:
        ConfigError: one line that names the dotted field, its value and the allowed ones.
    """
    values = keys_and_values("", config.to_dict())
    check_keys("", values, SECTIONS)
    task = _task(values["task"])
    train = section("train", values["train"], TrainSection)
    numbers, options, temperature, path = _loss(values["loss"])
    optimizer, run_numbers = _optimizer(values["optim"], train)
    sweep = section("sweep", values["sweep"], SweepSection)
    runs = _runs(values["seed"], train, numbers | run_numbers, sweep)
    _check_warmup(runs, train)
    evaluations = _evaluations(values["eval"], task)
    for name in train.eval_last:
        choose("train.eval_last", name, evaluations)
    for name in train.probes:
        choose("train.probes", name, PROBES)
    check_float32("config", values)
    return Settings(
        task=task,
        model=_model(values["model"], task),
        loss_name=values["loss"]["name"],
        loss_options=options,
        logit_temperature=temperature,
        loss_path=path,
        optimizer=optimizer,
        train=train,
        evaluations=evaluations,
        runs=runs,
        layout=_layout(values["parallel"], train, task, len(runs)),
    )


def _task(values: Any) -> Task:
    named = keys_and_values("task", values)
    return section("task", named, choose("task.name", named.pop("name", None), TASKS))


def _model(values: Any, task: Task) -> TransformerConfig:
    named = keys_and_values("model", values)
    preset = _preset(named.pop("preset", None), named.get("causal"), task)
    own = {f.name: getattr(preset, f.name) for f in dataclasses.fields(preset)}
    filled = {k: own[k] if v is None and k in own else v for k, v in named.items()}
    model = section("model", filled, TransformerConfig, vocab_size=task.vocab_size)
    if model.position == "learned" and model.max_length < task.window_length:
        raise ConfigError(
            f"config.model.max_length={model.max_length}: must be at least the task's window of "
            f"{task.window_length} tokens"
        )
    return model


def _preset(name: Any, causal: Any, task: Task) -> TransformerConfig:
    """The preset of a name, unless its models would see the task's labels.

    ``causal`` is the config's ``model.causal``; None leaves the preset's own.
    """
    if not task.labels_follow:
        return choose("model.preset", name, PRESETS)
    reads = "a model that sees later tokens reads the answers there"
    if causal is False:
        raise ConfigError(f"config.model.causal=False: must be True: {reads}")
    offered = {
        known: preset for known, preset in PRESETS.items() if preset.causal or causal is True
    }
    if isinstance(name, str) and name in PRESETS.keys() - offered.keys():
        names = ", ".join(sorted(offered))
        raise ConfigError(f"config.model.preset={name!r}: must be one of {names}: {reads}")
    return choose("model.preset", name, offered)


def _loss(values: Any) -> tuple[Numbers, dict[str, str], float, Path]:
    """Numbers, string options, temperature and path of the loss."""
    named = keys_and_values("loss", values)
    function = choose("loss.name", named.pop("name", None), TOKEN_LOSSES)
    taken = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    options = {p.name: p.annotation for p in taken if p.default is not p.empty}
    numbers = {p.name: float for p in taken if p.name not in options}
    fields = {"logit_temperature": float, "path": Path, **numbers, **options}
    kind = dataclasses.make_dataclass("LossSection", fields.items())
    checked = dataclasses.asdict(section("loss", named, kind))
    for name in ("logit_temperature", *numbers):
        _check_number("loss", name, checked[name])
    temperature, path = checked.pop("logit_temperature"), checked.pop("path")
    strings = {name: checked.pop(name) for name in options}
    return checked, strings, temperature, path


def _optimizer(values: Any, train: TrainSection) -> tuple[OptimizerConfig, Numbers]:
    shared = keys_and_values("optim", values)
    own: dict[str, Any] = {
        name: shared.pop(name) for name in ("peak_lr", "warmup_steps") if name in shared
    }
    choose("optim.name", shared.get("name"), OPTIMIZERS)
    optimizer = section("optim", shared, OptimizerConfig, num_updates=train.num_updates)
    numbers = dataclasses.asdict(section("optim", own, _Pace))
    for name, value in numbers.items():
        _check_number("optim", name, value)
    return optimizer, numbers


def _check_number(path: str, name: str, value: int | float) -> None:
    allowed, holds = _ALLOWED[name]
    if not holds(value):
        raise ConfigError(f"config.{path}.{name}={value!r}: must be {allowed}")


def _runs(
    seed: Any, train: TrainSection, numbers: Numbers, sweep: SweepSection
) -> tuple[Numbers, ...]:
    if type(seed) is not int or not 0 <= seed < 2**31:
        raise ConfigError(f"config.seed={shown(seed)}: must be an integer in [0, 2**31)")
    swept = {k: v for k, v in dataclasses.asdict(sweep).items() if v}
    if train.seeds * math.prod(map(len, swept.values())) > MAX_RUNS:
        raise ConfigError(
            f"config.train.seeds={train.seeds}: must be at most {MAX_RUNS} over all sweep points"
        )
    for name, values in swept.items():
        if name not in numbers:
            raise ConfigError(f"config.sweep.{name}={values}: this loss has no {name}")
        for value in values:
            _check_number("sweep", name, value)
    return tuple(
        {"seed": seed + i, **numbers, **dict(zip(swept, point, strict=True))}
        for point in itertools.product(*swept.values())
        for i in range(train.seeds)
    )


def _layout(parallel: Any, train: TrainSection, task: Task, num_runs: int) -> Layout:
    methods: dict[str, Method] = {"jit": "jit", "pmap": "pmap"}
    method = choose("parallel", parallel, methods)
    windows = jax.eval_shape(lambda: task.batch_at(task.train_set(), 0)).tokens.shape[0]
    try:
        return choose_layout(method, train.shard, train.reduce_groups, num_runs, windows)
    except ValueError as error:
        raise ConfigError(f"config.{error}") from error


def _check_warmup(runs: tuple[Numbers, ...], train: TrainSection) -> None:
    longest = max(run["warmup_steps"] for run in runs)
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
