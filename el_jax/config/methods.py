"""Losses, weightings, optimizers, objectives on later tokens: config keys from signatures."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal

from el_jax.config.sections import choose, keys_and_values, typed
from el_jax.losses import ALL_LOSSES, Path
from el_jax.numbers import Number, Option, declared, numbers_of
from el_jax.process.errors import ConfigError
from el_jax.training.objectives.future import FUTURE
from el_jax.training.optimizers import OPTIMIZERS, optimizer_numbers
from el_jax.training.optimizers.schedules import SCHEDULES
from el_jax.weighting import ALL_WEIGHTINGS

Numbers = dict[str, int | float]
# each section's table of methods, and the keys that it has for every method
_SECTIONS: dict[str, tuple[Mapping[str, Callable[..., Any]], dict[str, Number | Option]]] = {
    "loss": (
        ALL_LOSSES,
        {"logit_temperature": Number(1.0, above=0), "path": Option(Path, "auto")},
    ),
    "optim": (OPTIMIZERS, {}),
    "future": (FUTURE, {"weight": Number(1.0, at_least=0)}),
    "weighting": (ALL_WEIGHTINGS, {}),
}


@dataclasses.dataclass(frozen=True)
class Choice:
    """The method that a section of a config names.

    Attributes:
        name: key of the section's table of methods.
        numbers: the method's own numbers.
        options: the method's own options.
        shared: values of the keys that the section has for every method.
    """

    name: str
    numbers: Numbers
    options: dict[str, str]
    shared: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Signature:
    """The keys of a section, as declared by the method that it names.

    Attributes:
        section: name of the section.
        name: name of the method.
        shared: the section's own numbers and options, which all runs share.
        numbers: the method's numbers.
        options: the method's options, which all runs share.
    """

    section: str
    name: str
    shared: Mapping[str, Number | Option]
    numbers: Mapping[str, Number]
    options: Mapping[str, Option]

    @property
    def declared(self) -> dict[str, Number | Option]:
        """Every key but the name."""
        return {**self.shared, **self.numbers, **self.options}

    @property
    def kinds(self) -> dict[str, Any]:
        """The type of every key."""
        return {"name": str} | {key: one.kind for key, one in self.declared.items()}

    @property
    def defaults(self) -> dict[str, int | float | str]:
        """The section with every key at its published value."""
        return {"name": self.name} | {key: one.default for key, one in self.declared.items()}

    def read(self, values: Any) -> Choice:
        """Read the section."""
        checked = typed(self.section, values, self.kinds)
        for key, one in self.declared.items():
            if isinstance(one, Number):
                check_range(f"{self.section}.{key}", checked[key], one)
        kinds = (self.numbers, self.options, self.shared)
        return Choice(self.name, *({key: checked[key] for key in keys} for keys in kinds))


def signature_of(section: str, name: Any) -> Signature:
    """The signature of a method.

    Args:
        section: "loss", "optim", "future" or "weighting".
        name: name of the method.

    Raises:
        ConfigError: there is no such method, or its signature does not declare its numbers.
    """
    table, shared = _SECTIONS[section]
    method = choose(f"{section}.name", name, table)
    try:
        numbers = optimizer_numbers(name) if section == "optim" else numbers_of(method)
        own = declared(method) if section == "loss" else {}
    except (TypeError, NameError) as error:  # NameError: an annotation that cannot be evaluated
        raise ConfigError(f"config.{section}.name: {error}") from error
    options = {key: one for key, one in own.items() if isinstance(one, Option)}
    if section == "optim":
        shared = {"schedule": Option(Literal[tuple(SCHEDULES)], "constant")}  # with imported ones
    if taken := {"name", *shared} & {*numbers, *options}:
        raise ConfigError(
            f"config.{section}.name: {name} has a number or option {min(taken)!r}, which is a key "
            "of every such section: rename it"
        )
    return Signature(section, name, shared, numbers, options)


def read_method(section: str, values: Any) -> Choice:
    """Read a section that names a method; its arguments and errors are ``signature_of``'s."""
    return signature_of(section, keys_and_values(section, values).get("name")).read(values)


def check_range(path: str, value: int | float, number: Number) -> None:
    """Raise unless a number is in its range.

    Raises:
        ConfigError: names the field, its value and the range.
    """
    if not number.allows(value):
        raise ConfigError(f"config.{path}={value!r}: must be {number.allowed}")
