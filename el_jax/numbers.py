"""A method's numbers, declared in its function's signature.

    def focal(stats, *, gamma: Annotated[ScalarLike, Number(2.0, at_least=0, symbol="γ")]): ...

A keyword-only parameter with a ``Number`` is a number of the method; one of type ``Literal`` with a
default is an option. The keys of a config section, their defaults, their allowed values, the keys
that can be swept, and the labels in tables and figures all follow from the signature.
"""

import dataclasses
import functools
import inspect
import math
import typing
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any


@dataclasses.dataclass(frozen=True)
class Number:
    """A number of a method.

    Attributes:
        default: the published value; an int for a number that counts something.
        at_least: the smallest value allowed.
        above: exclusive lower bound.
        at_most: the largest value allowed.
        below: exclusive upper bound.
        symbol: the symbol in tables and figures, such as λ; empty for the parameter's own name.
    """

    default: int | float
    _: dataclasses.KW_ONLY
    at_least: int | float = -math.inf
    above: int | float = -math.inf
    at_most: int | float = math.inf
    below: int | float = math.inf
    symbol: str = ""

    @property
    def kind(self) -> type[int] | type[float]:
        """The type of its values."""
        return type(self.default)

    def allows(self, value: int | float) -> bool:
        """True for a finite number within the bounds."""
        within = self.at_least <= value <= self.at_most and self.above < value < self.below
        return within and math.isfinite(value)

    @property
    def allowed(self) -> str:
        """The allowed values, as a phrase that follows "must be"."""
        lowest, highest = max(self.at_least, self.above), min(self.at_most, self.below)
        if math.isfinite(lowest) and math.isfinite(highest):
            left = "[" if self.at_least > self.above else "("
            right = "]" if self.at_most < self.below else ")"
            return f"in {left}{lowest:g}, {highest:g}{right}"
        if math.isfinite(lowest):
            return f"at least {lowest:g}" if self.at_least > self.above else f"above {lowest:g}"
        if math.isfinite(highest):
            return f"at most {highest:g}" if self.at_most < self.below else f"below {highest:g}"
        return "a finite number"


@dataclasses.dataclass(frozen=True)
class Option:
    """A choice among a few strings.

    Attributes:
        kind: the ``Literal`` of the strings.
        default: the default string.
    """

    kind: Any
    default: str


def numbers_of(method: Callable[..., Any]) -> dict[str, Number]:
    """The numbers that a function takes, by name.

    Raises:
        TypeError: a keyword-only parameter is neither a number nor an option.
    """
    return {name: d for name, d in declared(method).items() if isinstance(d, Number)}


@functools.cache  # a signature is read once
def declared(method: Callable[..., Any]) -> Mapping[str, Number | Option]:
    """The numbers and options that a function takes, by name.

    Raises:
        TypeError: a keyword-only parameter is neither a number nor an option, or a number is not
            keyword-only.
    """
    hints = typing.get_type_hints(method, include_extras=True)
    found: dict[str, Number | Option] = {}
    for parameter in inspect.signature(method).parameters.values():
        hint = hints.get(parameter.name)
        numbers = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Number)]
        if parameter.kind is parameter.KEYWORD_ONLY:
            found[parameter.name] = numbers[0] if numbers else _option(method, parameter, hint)
        elif numbers:
            raise TypeError(
                f"{_name(method)}: its number {parameter.name} must stand behind a *, as in "
                f"def {_name(method)}(..., *, {parameter.name}: Annotated[...])"
            )
    return MappingProxyType(found)


def _name(method: Any) -> str:
    return getattr(method, "__name__", str(method))


def _option(method: Any, parameter: inspect.Parameter, hint: Any) -> Option:
    if typing.get_origin(hint) is typing.Literal and parameter.default is not parameter.empty:
        return Option(hint, parameter.default)
    raise TypeError(
        f"{_name(method)}: its parameter {parameter.name} must be declared "
        f"as `{parameter.name}: Annotated[ScalarLike, Number(DEFAULT)]`, with the range in Number, "
        "or be a Literal with a default"
    )
