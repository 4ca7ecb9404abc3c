"""A config's model: an entry of ``MODELS``, with the fields of its own dataclass."""

import dataclasses
import inspect
import typing
from typing import Any

from el_jax.config.sections import choose, constructed, keys_and_values, kinds_of, typed
from el_jax.models import MODELS, PRESETS, BidirectionalLSTMConfig, TransformerConfig
from el_jax.process.errors import ConfigError
from el_jax.tasks import Task


@dataclasses.dataclass(frozen=True)
class ModelChoice:
    """The model that a config names; its vocabulary is the task's.

    Attributes:
        name: key of ``MODELS``.
        kind: its dataclass.
        fields: fields of the dataclass, all but the vocabulary.
    """

    name: str
    kind: type[Any]
    fields: dict[str, Any]

    def config_for(self, task: Task) -> Any:
        """The model's dataclass, with a task's vocabulary.

        Raises:
            ConfigError: the dataclass refuses a number, or has too few positions for a window.
        """
        fields = self.fields | {"vocab_size": task.vocab_size}
        config = constructed("model", self.kind, fields)
        learned = isinstance(config, TransformerConfig) and config.position == "learned"
        if learned or isinstance(config, BidirectionalLSTMConfig):
            longest, window = config.max_length, task.window_length
            if longest < window:
                raise ConfigError(
                    f"config.model.max_length={longest}: must be at least the task's window of "
                    f"{window} tokens"
                )
        return config


def config_class(name: str) -> type[Any]:
    """The dataclass that a model takes: the type of its function's first parameter.

    Raises:
        ConfigError: the function has no such parameter.
    """
    model = MODELS[name]
    first = next(iter(inspect.signature(model).parameters), "")
    kind = typing.get_type_hints(model).get(first)
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise ConfigError(
            f"config.model.name={name!r}: the function's first parameter must be annotated with "
            "the dataclass of the model's settings"
        )
    if "vocab_size" not in {field.name for field in dataclasses.fields(kind)}:
        raise ConfigError(f"config.model.name={name!r}: {kind.__name__} must have a vocab_size")
    return kind


def parse_model(values: Any, *, labels_follow: bool) -> ModelChoice:
    """Read the model section.

    Args:
        values: the section.
        labels_follow: see ``Task``; True refuses models that see later tokens.
    """
    given = keys_and_values("model", values)
    name = given.pop("name", None)
    choose("model.name", name, MODELS)
    kind = config_class(name)
    which = f"name={name!r}"
    if kind is TransformerConfig:
        which, given = f"preset={given.get('preset')!r}", _filled(given)
    fields = typed("model", given, kinds_of(kind, "vocab_size"))
    if labels_follow and not fields.get("causal", getattr(kind, "causal", True)):
        raise ConfigError(
            f"config.model.causal=False with {which}: must be True: a model that sees later tokens "
            "reads the answers there"
        )
    return ModelChoice(name, kind, fields)


def _filled(given: dict[str, Any]) -> dict[str, Any]:
    """The switches that a config sets; those left at None keep the preset's value."""
    preset = choose("model.preset", given.pop("preset", None), PRESETS)
    own = {f.name: getattr(preset, f.name) for f in dataclasses.fields(preset)}
    return {k: own[k] if v is None and k in own else v for k, v in given.items()}
