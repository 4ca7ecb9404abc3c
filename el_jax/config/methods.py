"""The loss and the optimizer of a config: their keys and ranges follow from their signatures."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from el_jax.config.sections import choose, keys_and_values, typed
from el_jax.losses import TOKEN_LOSSES, Path
from el_jax.numbers import Number, numbers_of, options_of
from el_jax.process.errors import ConfigError
from el_jax.training.objectives.future import FUTURE
from el_jax.training.optimizers import OPTIMIZERS, OptimizerConfig, optimizer_numbers
from el_jax.training.optimizers.schedules import ScheduleName

Numbers = dict[str, int | float]
ALWAYS_TRACED = ("peak_lr", "warmup_steps")  # a number more is a program more, swept or not


@dataclasses.dataclass(frozen=True)
class LossChoice:
    """A token loss as a config asks for it.

    Attributes:
        name: key of ``TOKEN_LOSSES``.
        numbers: the loss's numbers; a sweep may replace them.
        options: its string options.
        temperature: logits are divided by it.
        path: implementation of the loss; "auto" is ``losses.choose_path``.
    """

    name: str
    numbers: Numbers
    options: dict[str, str]
    temperature: float
    path: Path

    @property
    def declared(self) -> dict[str, Number]:
        """Default, range and symbol of each number."""
        return numbers_of(TOKEN_LOSSES[self.name])


@dataclasses.dataclass(frozen=True)
class OptimizerChoice:
    """An optimizer as a config asks for it.

    Attributes:
        name: key of ``OPTIMIZERS``.
        schedule: of the learning rate.
        numbers: numbers of the optimizer and its schedule; a sweep may replace them.
    """

    name: str
    schedule: ScheduleName
    numbers: Numbers

    @property
    def declared(self) -> dict[str, Number]:
        """Default, range and symbol of each number."""
        return optimizer_numbers(self.name)

    def shared(self, num_updates: int, traced: Mapping[str, Any]) -> OptimizerConfig:
        """The options of all runs: every number but the traced ones, which differ."""
        own = {name: value for name, value in self.numbers.items() if name not in traced}
        return OptimizerConfig(self.name, num_updates, self.schedule, own)


@dataclasses.dataclass(frozen=True)
class FutureChoice:
    """An objective on later tokens as a config asks for it.

    Attributes:
        name: key of ``FUTURE``.
        weight: of its term beside the token loss.
        numbers: the objective's own.
    """

    name: str
    weight: float
    numbers: Numbers


LOSS_KINDS: dict[str, Any] = {"name": str, "logit_temperature": float, "path": Path}
OPTIM_KINDS: dict[str, Any] = {"name": str, "schedule": ScheduleName}
_TEMPERATURE = Number(1.0, above=0)
_WEIGHT = Number(1.0, at_least=0)


def loss_kinds(name: Any) -> dict[str, Any]:
    """The type of every key of the loss section.

    Raises:
        ConfigError: there is no such loss, or its signature cannot be read.
    """
    loss = choose("loss.name", name, TOKEN_LOSSES)
    _, *others = inspect.signature(loss).parameters.values()
    for number in others:
        if number.kind is not number.KEYWORD_ONLY:
            raise ConfigError(
                f"config.loss.name={name!r}: its number {number.name} must stand behind a *, as in "
                f"def {name}(stats, *, {number.name}: Annotated[ScalarLike, Number(1.0)])"
            )
    numbers = declared("loss.name", numbers_of, loss)
    options = {key: option.kind for key, option in options_of(loss).items()}
    return LOSS_KINDS | {key: number.kind for key, number in numbers.items()} | options


def optim_kinds(name: Any) -> dict[str, Any]:
    """The type of every key of the optim section.

    Raises:
        ConfigError: there is no such optimizer, or its signature cannot be read.
    """
    choose("optim.name", name, OPTIMIZERS)
    numbers = declared("optim.name", optimizer_numbers, name)
    return OPTIM_KINDS | {key: number.kind for key, number in numbers.items()}


def declared(path: str, read: Callable[[Any], dict[str, Number]], method: Any) -> dict[str, Number]:
    """The numbers of a method.

    Raises:
        ConfigError: its signature does not declare them.
    """
    try:
        return read(method)
    except (TypeError, NameError) as error:  # NameError: an annotation that cannot be evaluated
        raise ConfigError(f"config.{path}: {error}") from error


def parse_loss(values: Any) -> LossChoice:
    """Read the loss section.

    Raises:
        ConfigError: names the field, its value and the allowed ones.
    """
    name = keys_and_values("loss", values).get("name")
    checked = typed("loss", values, loss_kinds(name))
    loss = TOKEN_LOSSES[checked.pop("name")]
    check_range("loss.logit_temperature", checked["logit_temperature"], _TEMPERATURE)
    numbers = numbers_of(loss)
    return LossChoice(
        name=str(name),
        numbers=_in_range("loss", checked, numbers),
        options={key: checked[key] for key in options_of(loss)},
        temperature=checked["logit_temperature"],
        path=checked["path"],
    )


def parse_future(values: Any) -> FutureChoice:
    """Read the future section.

    Raises:
        ConfigError: names the field, its value and the allowed ones.
    """
    name = keys_and_values("future", values).get("name")
    method = choose("future.name", name, FUTURE)
    numbers = declared("future.name", numbers_of, method)
    kinds = {"name": str, "weight": float} | {key: n.kind for key, n in numbers.items()}
    checked = typed("future", values, kinds)
    check_range("future.weight", checked["weight"], _WEIGHT)
    return FutureChoice(str(name), checked["weight"], _in_range("future", checked, numbers))


def parse_optimizer(values: Any) -> OptimizerChoice:
    """Read the optim section.

    Raises:
        ConfigError: names the field, its value and the allowed ones.
    """
    name = keys_and_values("optim", values).get("name")
    checked = typed("optim", values, optim_kinds(name))
    numbers = _in_range("optim", checked, optimizer_numbers(checked["name"]))
    return OptimizerChoice(checked["name"], checked["schedule"], numbers)


def _in_range(path: str, checked: Mapping[str, Any], numbers: Mapping[str, Number]) -> Numbers:
    for name, number in numbers.items():
        check_range(f"{path}.{name}", checked[name], number)
    return {name: checked[name] for name in numbers}


def check_range(path: str, value: int | float, number: Number) -> None:
    """Raise unless a number is in its range.

    Raises:
        ConfigError: names the field, its value and the range.
    """
    if not number.allows(value):
        raise ConfigError(f"config.{path}={value!r}: must be {number.allowed}")
