"""Turn a ConfigDict into frozen dataclasses, with one clear message for each value that is wrong.

``ConfigDict`` alone accepts a negative learning rate or an unknown loss. Here every section of a
config becomes a dataclass: the annotations give its keys and types, and ``__post_init__`` checks
its values. Every error names the dotted field, the value and the allowed ones.
"""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar

from ml_collections import ConfigDict

from el_jax.process.errors import ConfigError, unknown_key

T = TypeVar("T")
COMMANDS = {  # a key that only this command's config has, the config's subject, and the command
    "task": ("a training", "train"),
    "problem": ("a linear problem", "analyze_ntp"),
    "lanczos_steps": ("a measurement", "measure"),
}
# sections whose keys depend on a name, and the argument of a config file that chooses it
_ARGUMENTS = {
    "loss": "loss",
    "optim": "optimizer",
    "model": "model",
    "task": "task",
    "task.world": "world",
}


def _describe(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(repr(name) for name in typing.get_args(kind))
    if typing.get_origin(kind) is types.UnionType:
        return " or ".join(_describe(k) for k in typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return f"a tuple, such as (2, 4), each {_describe(typing.get_args(kind)[0])}"
    names = {
        int: "an integer (32 bits)",
        float: "a finite number",
        bool: "True or False",
        str: "a string",
    }
    return names.get(kind, "None")


def _fits(value: Any, kind: Any) -> bool:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return isinstance(value, str | int) and value in args
    if origin is types.UnionType:
        return any(_fits(value, k) for k in args)
    if origin is tuple:
        return isinstance(value, tuple | list) and all(_fits(v, args[0]) for v in value)
    if kind is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and math.isfinite(value)
    if kind is int:  # 32 bits, as for step counters and array sizes
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31
    return value is None if kind is types.NoneType else isinstance(value, kind)


def _convert(value: Any, kind: Any) -> Any:
    if typing.get_origin(kind) is tuple:
        return tuple(_convert(v, typing.get_args(kind)[0]) for v in value)
    return float(value) if kind is float else value  # an int where a number is wanted


def keys_and_values(path: str, values: Any) -> dict[str, Any]:
    """A section of a config, as a new dict.

    Raises:
        ConfigError: the value is no section.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"config.{path}={values!r}: must be a section of keys and values")
    return {str(key): value for key, value in values.items()}


def values_of(config: ConfigDict, own: str) -> dict[str, Any]:
    """The sections of a config, as a new dict.

    Raises:
        ConfigError: it belongs to another command: it has a key of ``COMMANDS`` other than ``own``.
    """
    values = keys_and_values("", config.to_dict())
    for key, (what, command) in COMMANDS.items():
        if key in values and key != own:
            raise ConfigError(f"--config: {what}'s; `python -m el_jax.{command}` takes it")
    return values


def check_keys(path: str, keys: Iterable[str], known: Iterable[str]) -> None:
    """Raise if a key is unknown or missing.

    Args:
        path: dotted name of the section; empty for the config itself.
        keys: the keys that it has.
        known: the keys that it must have.

    Raises:
        ConfigError: names the first unknown key, or all that are missing; advises how to fill a
            section whose name was overridden without the numbers that go with it.
    """
    keys, known = set(keys), set(known)
    dot, argument = f"{path}." if path else "", _ARGUMENTS.get(path)
    missing = [f"config.{dot}{key}" for key in sorted(known - keys)]
    fills = f"; --config=FILE:{argument}=NAME fills the section with the numbers of NAME"
    advice = fills if argument and missing else ""
    for key in sorted(keys - known):
        raise ConfigError(f"{unknown_key(dot + key, known)}{advice}")
    if missing:
        raise ConfigError(f"{', '.join(missing)}: missing; no default here{advice}")


def typed(path: str, values: Any, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """One section of a config, with every value converted to its type.

    Args:
        path: dotted name of the section, for messages.
        values: a mapping; its keys are exactly those of ``kinds``.
        kinds: the type of each key.

    Raises:
        ConfigError: not a mapping, an unknown or missing key, or a wrong type.
    """
    values = keys_and_values(path, values)
    check_keys(path, values, kinds)
    dot = f"{path}." if path else ""
    for name, kind in kinds.items():
        if not _fits(values[name], kind):
            allowed = _describe(kind)
            raise ConfigError(f"config.{dot}{name}={values[name]!r}: must be {allowed}")
    return {name: _convert(values[name], kind) for name, kind in kinds.items()}


def kinds_of(kind: type[Any], *given: str) -> dict[str, Any]:
    """The types of a dataclass's fields, except the given ones."""
    hints = typing.get_type_hints(kind)
    fields = [f.name for f in dataclasses.fields(kind) if f.init and f.name not in given]
    return {name: hints[name] for name in fields}


def section(path: str, values: Any, kind: type[T], **given: Any) -> T:
    """Turn one section of a config into the dataclass ``kind``.

    Args:
        path: dotted name of the section, for messages.
        values: a mapping; its keys are exactly the fields of ``kind`` that are not given.
        kind: a dataclass.
        **given: fields that come from elsewhere and are not keys of the section.

    Raises:
        ConfigError: not a mapping, an unknown or missing key, a wrong type, or a value that
            ``kind`` refuses with a ValueError that starts with ``field=value``.
    """
    return constructed(path, kind, typed(path, values, kinds_of(kind, *given)) | given)


def constructed(path: str, kind: Callable[..., T], fields: Mapping[str, Any]) -> T:
    """Call ``kind`` with the checked values of a section.

    Raises:
        ConfigError: ``kind`` refuses a value with a ValueError that starts with ``field=value``.
    """
    try:
        return kind(**fields)
    except ValueError as error:
        raise ConfigError(f"config.{f'{path}.' if path else ''}{error}") from error


def _hint(name: Any, known: Iterable[str]) -> str:
    names = {known_name.lower(): known_name for known_name in known}
    close = difflib.get_close_matches(str(name).lower(), names, n=1)
    return f"; did you mean {names[close[0]]!r}?" if close else ""


def choose(path: str, name: Any, table: Mapping[str, T]) -> T:
    """Look up a name in a table of the known ones.

    Raises:
        ConfigError: lists the known names.
    """
    if not isinstance(name, str) or name not in table:
        names = ", ".join(sorted(table))
        raise ConfigError(f"config.{path}={name!r}: must be one of {names}{_hint(name, table)}")
    return table[name]
