"""A family's table: the options in its config.json and the tensors in its files."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from el_jax.models.pretrained.layouts import Module, Place


class Option(NamedTuple):
    """A field of config.json.

    Attributes:
        name: the field's name.
        default: the value if the field is missing or null; None keeps ours.
        values: ours for each of theirs, where they differ; among equal ones the first is written.
        other_names: the field's names in files of other versions; read but not written.
    """

    name: str
    default: Any = None
    values: Mapping[Any, Any] | None = None
    other_names: tuple[str, ...] = ()


class Family(NamedTuple):
    """A family; ``FAMILIES`` lists them by ``model_type``.

    Attributes:
        architecture: the class of transformers that has the head.
        options: by field of ``TransformerConfig``; several fields may share one option.
        always: the fields of ``TransformerConfig`` that no option sets.
        fixed: options that must have one value, in addition to ``NOWHERE``.
        tensors: by module; those whose parameters a model does not have are left out.
        prefix: prefix of most names, missing in files saved without the head.
        copies: names of tensors that may be duplicates, and of the tensors they must equal.
    """

    architecture: str
    options: Mapping[str, Option]
    always: Mapping[str, Any]
    fixed: Mapping[str, Any]
    tensors: Mapping[str, Module]
    prefix: str
    copies: Mapping[str, str]

    def places(self, num_layers: int) -> dict[str, Place]:
        """Name and layout of every tensor that a model of the family may have."""
        return {
            f"{module.format(number)}.{word}": place.in_layer(number)
            for module, words in self.tensors.items()
            for number in range(num_layers if "{}" in module else 1)
            for word, place in words.items()
        }
