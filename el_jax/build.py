"""From a config to a training: the only reader of string names."""

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from ml_collections import ConfigDict

from el_jax.losses import TOKEN_LOSSES, token_stats
from el_jax.models import PRESETS, TransformerConfig, transformer
from el_jax.tasks import TASKS, PaddedCopy, Task
from el_jax.training.fit import FitOptions
from el_jax.training.mechanism import Probe, attention_mass, swap_test
from el_jax.training.objectives import Objective, TokenLoss
from el_jax.training.optimizers import OPTIMIZERS, OptimizerConfig
from el_jax.training.program import Program, make_program
from el_jax.training.state import Hypers
from el_jax.typed_config import ConfigError, check_keys, choose, section
from el_jax.types import Batch, ModelFns

Config: TypeAlias = ConfigDict  # what a config file returns
Numbers: TypeAlias = dict[str, int | float]
SECTIONS = ("seed", "task", "loss", "model", "optim", "train", "sweep")


@dataclasses.dataclass(frozen=True)
class TrainSection:
    """The train section of a config; see configs/el/copy.py for the meaning of each key."""

    num_updates: int
    seeds: int
    log_every: int
    eval_every: int
    checkpoint_every: int
    run_axis: Literal["vmap", "map"]
    num_test: int
    num_test_precise: int
    eval_tokens: int
    mechanism_checks: bool
    tensorboard: bool

    def __post_init__(self) -> None:
        for name in ("seeds", "num_test", "num_test_precise", "eval_tokens"):
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"{name}={value}: must be at least 1")
        _ = self.fit_options

    @property
    def fit_options(self) -> FitOptions:
        """The part the loop reads."""
        return FitOptions(self.num_updates, self.log_every, self.eval_every, self.checkpoint_every)


@dataclasses.dataclass(frozen=True)
class SweepSection:
    """The sweep section of a config: values that replace a scalar, every combination of them."""

    lam: tuple[float, ...]
    b: tuple[float, ...]
    peak_lr: tuple[float, ...]
    warmup_steps: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Settings:
    """A config that was read and found good; nothing is compiled or drawn yet.

    Attributes:
        task: the task.
        model: the transformer.
        loss_name: key of ``TOKEN_LOSSES``.
        loss_options: the loss's string options.
        logit_temperature: logits are divided by it.
        optimizer: what the runs share of their optimizer.
        train: how long, how many seeds, how often to look.
        runs: one dict per run: seed, peak_lr, warmup_steps and the loss's numbers.
    """

    task: Task
    model: TransformerConfig
    loss_name: str
    loss_options: dict[str, str]
    logit_temperature: float
    optimizer: OptimizerConfig
    train: TrainSection
    runs: tuple[Numbers, ...]


@dataclasses.dataclass(frozen=True)
class Training:
    """Everything ``fit`` needs, and the parts for whoever looks closer.

    Attributes:
        settings: what it was built from.
        task: the task.
        model: the network as pure functions.
        program: the compiled functions over all runs.
        options: how long and how often.
        evaluations: batches measured during training.
        final_evaluations: batches measured at the end only.
        probes: further measurements, taken with the evaluations.
    """

    settings: Settings
    task: Task
    model: ModelFns
    program: Program
    options: FitOptions
    evaluations: dict[str, Batch]
    final_evaluations: dict[str, Batch]
    probes: tuple[Probe, ...]


def parse(config: Config) -> Settings:
    """Read and check a config.

    Raises:
        ConfigError: one line naming the dotted field, its value and what is allowed.
    """
    values: dict[str, Any] = config.to_dict()
    check_keys("", values, SECTIONS)
    task = _task(values["task"])
    train = section("train", values["train"], TrainSection)
    numbers, options, temperature = _loss(values["loss"])
    optimizer, run_numbers = _optimizer(values["optim"], train)
    sweep = section("sweep", values["sweep"], SweepSection)
    runs = _runs(values["seed"], train.seeds, numbers | run_numbers, sweep)
    _check_runs(runs, train)
    return Settings(
        task=task,
        model=_model(values["model"], task),
        loss_name=values["loss"]["name"],
        loss_options=options,
        logit_temperature=temperature,
        optimizer=optimizer,
        train=train,
        runs=runs,
    )


def build(settings: Settings) -> Training:
    """Put the parts of a training together; draws the data sets on the device."""
    task, train = settings.task, settings.train
    model = transformer(settings.model)
    objective = Objective(model, _token_loss(settings), len(task.group_names), task.answer_length)
    config = settings.model
    program = make_program(
        task,
        objective,
        settings.optimizer,
        _hypers(settings),
        run_axis=train.run_axis,
        eval_tokens=train.eval_tokens,
        uses_dropout=any(
            (config.embedding_dropout, config.attention_dropout, config.residual_dropout)
        ),
    )
    return Training(
        settings=settings,
        task=task,
        model=model,
        program=program,
        options=train.fit_options,
        evaluations={
            "train": jax.jit(lambda: task.pack(task.train_set()))(),
            "test": jax.jit(lambda: task.pack(task.test_set(train.num_test)))(),
        },
        final_evaluations={
            "test_precise": jax.jit(lambda: task.pack(task.test_set(train.num_test_precise)))()
        },
        probes=_probes(task, model) if train.mechanism_checks else (),
    )


def _probes(task: Task, model: ModelFns) -> tuple[Probe, ...]:
    if not isinstance(task, PaddedCopy):
        raise ConfigError("config.train.mechanism_checks=True: must be False but for task copy")
    return swap_test(task, model), attention_mass(task, model)


def _task(values: Mapping[str, Any]) -> Task:
    named = dict(values)
    return section("task", named, choose("task.name", named.pop("name", None), TASKS))


def _model(values: Mapping[str, Any], task: Task) -> TransformerConfig:
    named = dict(values)
    preset = choose("model.preset", named.pop("preset", None), PRESETS)
    own = {f.name: getattr(preset, f.name) for f in dataclasses.fields(preset)}
    filled = {k: own[k] if v is None and k in own else v for k, v in named.items()}
    model = section("model", filled, TransformerConfig, vocab_size=task.vocab_size)
    if model.position == "learned" and model.max_length < task.window_length:
        raise ConfigError(
            f"config.model.max_length={model.max_length}: must be at least the task's window of "
            f"{task.window_length} tokens"
        )
    return model


def _loss(values: Mapping[str, Any]) -> tuple[Numbers, dict[str, str], float]:
    """Numbers, string options and temperature of the loss."""
    function = choose("loss.name", values.get("name"), TOKEN_LOSSES)
    parameters = [
        p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY
    ]
    check_keys("loss", values, ["name", "logit_temperature", *(p.name for p in parameters)])
    options = {p.name: p for p in parameters if p.default is not p.empty}
    numbers = {}
    for name in ("logit_temperature", *(p.name for p in parameters if p.name not in options)):
        value = values[name]
        if not isinstance(value, int | float) or not np.isfinite(value) or value < 0:
            raise ConfigError(f"config.loss.{name}={value!r}: must be a number from 0")
        numbers[name] = float(value)
    temperature = numbers.pop("logit_temperature")
    if temperature == 0:
        raise ConfigError("config.loss.logit_temperature=0.0: must be positive")
    for name, parameter in options.items():
        section("loss", {name: values[name]}, _choice_of(name, parameter.annotation))
    return numbers, {name: values[name] for name in options}, temperature


def _choice_of(name: str, annotation: Any) -> type:
    return dataclasses.make_dataclass("LossOption", [(name, annotation)])


def _optimizer(values: Mapping[str, Any], train: TrainSection) -> tuple[OptimizerConfig, Numbers]:
    shared = dict(values)
    numbers = {name: shared.pop(name, None) for name in ("peak_lr", "warmup_steps")}
    choose("optim.name", shared.get("name"), OPTIMIZERS)
    optimizer = section("optim", shared, OptimizerConfig, num_updates=train.num_updates)
    for name, value in numbers.items():
        if not isinstance(value, int | float):
            raise ConfigError(f"config.optim.{name}={value!r}: must be a number")
    return optimizer, numbers


def _runs(seed: Any, seeds: int, numbers: Numbers, sweep: SweepSection) -> tuple[Numbers, ...]:
    if not isinstance(seed, int) or not 0 <= seed < 2**31:
        raise ConfigError(f"config.seed={seed!r}: must be an integer in [0, 2**31)")
    swept = {k: v for k, v in dataclasses.asdict(sweep).items() if v}
    for name in swept:
        if name not in numbers:
            raise ConfigError(f"config.sweep.{name}={swept[name]}: this loss has no {name}")
    return tuple(
        {"seed": seed + i, **numbers, **dict(zip(swept, point, strict=True))}
        for point in itertools.product(*swept.values())
        for i in range(seeds)
    )


def _check_runs(runs: tuple[Numbers, ...], train: TrainSection) -> None:
    for run in runs:
        if not 0 < run["peak_lr"] < np.inf:
            raise ConfigError(f"config.optim.peak_lr={run['peak_lr']}: must be a positive number")
        steps = run["warmup_steps"]
        if steps != int(steps) or not 0 <= steps <= train.num_updates:
            raise ConfigError(
                f"config.optim.warmup_steps={steps}: must be an integer from 0 to "
                f"train.num_updates={train.num_updates}"
            )
        for name in ("lam", "b"):
            if run.get(name, 0.0) < 0:
                raise ConfigError(f"config.sweep.{name}={run[name]}: must be a number from 0")


def _token_loss(settings: Settings) -> TokenLoss:
    function: Callable[..., Array] = TOKEN_LOSSES[settings.loss_name]

    def token_loss(logits: Array, labels: Array, numbers: dict[str, Array]) -> Array:
        stats = token_stats(logits, labels, temperature=settings.logit_temperature)
        return function(stats, **numbers, **settings.loss_options)

    return token_loss


def _hypers(settings: Settings) -> Hypers:
    def column(name: str, dtype: Any) -> Array:
        return jnp.asarray([run[name] for run in settings.runs], dtype)

    own = {"seed", "peak_lr", "warmup_steps"}
    return Hypers(
        seed=column("seed", jnp.uint32),
        peak_lr=column("peak_lr", jnp.float32),
        warmup_steps=column("warmup_steps", jnp.int32),
        loss={name: column(name, jnp.float32) for name in settings.runs[0] if name not in own},
    )
