"""A family of published transformers: options of its config.json, tensors of its files."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from el_jax.models.config import TransformerConfig
from el_jax.models.pretrained.files import PretrainedError
from el_jax.models.pretrained.layouts import Place, Places

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
_FIXED = {
    "add_cross_attention": False,
    "is_encoder_decoder": False,
    "pruned_heads": {},
    "quantization_config": None,
    "rope_type": "default",
}
# of a run and not of the function that is computed; a file keeps what it has an option for
_OF_RUNS = {
    *("init", "init_std", "dtype", "matmul_precision", "attention_impl", "scan_layers"),
    "remat_layers",
    *("embedding_dropout", "attention_dropout", "residual_dropout"),
}


class Option(NamedTuple):
    """A field of config.json.

    Attributes:
        name: of the field.
        default: where the field is missing or null; None leaves ours.
        values: ours for each of theirs, where they differ; of equal ones the first is written.
        other_name: a second name of the field in some files; where it stands, it must say the same,
            since versions of transformers differ in which of the two they read.
        kind: of its values; None for that of the default.
    """

    name: str
    default: Any = None
    values: Mapping[Any, Any] | None = None
    other_name: str = ""
    kind: type | None = None

    def read(self, fields: Mapping[str, Any]) -> Any:
        """Our value.

        Raises:
            ValueError: names the field, its value and the allowed ones.
        """
        given = fields.get(self.name)
        value = self.default if given is None else given
        if (other := fields.get(self.other_name)) not in (None, value):
            raise ValueError(f"{self.other_name}={other!r}: must be {value!r}, as {self.name}")
        if value is None:
            return None
        kind = self.kind or type(self.default)
        right = isinstance(value, (int, float) if kind is float else kind)
        if not right or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"{self.name}={value!r}: must be of type {kind.__name__}")
        if isinstance(value, int) and abs(value) >= 2**31:
            raise ValueError(f"{self.name}={value!r}: must be below 2**31")
        if self.values is None:
            return kind(value)
        if value not in self.values:
            names = ", ".join(map(repr, self.values))
            raise ValueError(f"{self.name}={value!r}: must be one of {names}")
        return self.values[value]

    def write(self, ours: Any) -> Any:
        """Their value for ours."""
        if self.values is None:
            return ours
        return next(theirs for theirs, known in self.values.items() if known == ours)


class Family(NamedTuple):
    """A family; ``el_jax.models.pretrained`` has them by their ``model_type``.

    Attributes:
        architecture: the class of transformers that has the head.
        options: by the field of ``TransformerConfig``; several fields may share one option.
        always: the fields of ``TransformerConfig`` that no option sets.
        outer: tensors outside the layers; those whose parameters a model does not have are left
            out, here and below.
        layers: name of a layer, with braces for its number.
        layer: tensors of each layer.
        prefix: of most names, missing in files that were saved without the head.
        fixed: options that must have one value, beside those that no family may have.
        renamed: patterns of names in older files, and the present ones.
        copies: names of tensors that may be there again, and of the ones they must equal.
        skipped: patterns of tensors that are no parameters, or not of the language model.
    """

    architecture: str
    options: Mapping[str, Option]
    always: Mapping[str, Any]
    outer: Places
    layers: str
    layer: Places
    prefix: str
    fixed: Mapping[str, Any] = {}
    renamed: Mapping[str, str] = {}
    copies: Mapping[str, str] = {}
    skipped: tuple[str, ...] = ()

    def places(self, num_layers: int) -> Iterator[tuple[str, Place]]:
        """Name and place of every tensor that a model of the family may have."""
        yield from self.outer.items()
        for number in range(num_layers):
            for name, place in self.layer.items():
                yield f"{self.layers.format(number)}.{name}", place.inside(f"layers_{number}")

    def present_name(self, name: str, prefixed: bool) -> str:
        """The name that ``places`` has for a tensor of a file.

        Args:
            name: in the file.
            prefixed: True if some names of the file have the prefix.
        """
        for pattern, present in self.renamed.items():
            name = re.sub(pattern, present, name)
        known = name in self.outer or name in self.copies
        return name if prefixed or known else self.prefix + name

    def is_skipped(self, name: str) -> bool:
        """True for a tensor that is no parameter of ours."""
        return any(re.fullmatch(pattern, name) for pattern in self.skipped)


def config_of(family: Family, fields: Mapping[str, Any]) -> TransformerConfig:
    """The configuration that the fields of a config.json describe.

    Raises:
        ValueError: names the field, its value and the allowed ones.
    """
    fields = _with_rotation(family, fields)
    causal = {"is_causal": family.always.get("causal", True)}
    for name, allowed in (_FIXED | causal | dict(family.fixed)).items():
        if fields.get(name) not in (None, allowed):
            raise ValueError(f"{name}={fields[name]!r}: must be {allowed!r}")
    read = {ours: option.read(fields) for ours, option in family.options.items()}
    known = {ours: value for ours, value in read.items() if value is not None}
    try:
        return TransformerConfig(**known, **family.always)
    except ValueError as error:
        ours, _, said = str(error).partition("=")
        name = family.options[ours].name if ours in family.options else ours
        raise ValueError(f"{name}={said}") from error


def fields_of(family: Family, config: TransformerConfig) -> dict[str, Any]:
    """The fields of config.json for a configuration that the family may have."""
    whole = _with_sizes(config)
    options = {option.name: option.write(whole[ours]) for ours, option in family.options.items()}
    no_token = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
    return {"architectures": [family.architecture], **options, **no_token, "dtype": "float32"}


def differences(family: Family, config: TransformerConfig) -> list[str]:
    """Fields of a configuration that the family cannot have, each with the value that it can."""
    try:
        able = config_of(family, fields_of(family, config))
    except ValueError as error:
        return [str(error)]
    ours, theirs = function_of(config), function_of(able)
    return [
        f"{name}={value!r} must be {theirs[name]!r}"
        for name, value in ours.items()
        if name in theirs and value != theirs[name]
    ]


def function_of(config: TransformerConfig) -> dict[str, Any]:
    """The fields on which the logits of a configuration depend, with every size a number."""
    unread = _OF_RUNS | {"mlp_ratio"}
    if config.position != "rope":
        unread |= {"rotary_fraction", "rotary_base"}
    if config.position != "learned":
        unread |= {"position_offset"}
    return {name: value for name, value in _with_sizes(config).items() if name not in unread}


def family_of(families: Mapping[str, Family], config: TransformerConfig) -> str:
    """The ``model_type`` of the family that a configuration belongs to.

    Raises:
        PretrainedError: none has such models; names the closest.
    """
    lacking = {name: differences(family, config) for name, family in families.items()}
    closest = min(lacking, key=lambda name: len(lacking[name]))
    if lacking[closest]:
        said = ", ".join(lacking[closest])
        raise PretrainedError(f"the model has no Hugging Face form; to be {closest}, {said}")
    return closest


def _with_rotation(family: Family, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, with those of rotary positions, which have moved between versions, at the top."""
    names = {"type": "rope_type"}
    names |= {option.other_name: option.name for option in family.options.values()}
    flat = dict(fields)
    old, new = (fields.get(name) for name in ("rope_scaling", "rope_parameters"))
    if old and new and old != new:  # of which transformers reads the older alone
        raise ValueError(f"rope_scaling={old!r}: must be null or {new!r}, as rope_parameters")
    for place in ("rope_scaling", "rope_parameters"):
        inner = fields.get(place) or {}
        if not isinstance(inner, dict):
            raise ValueError(f"{place}={inner!r}: must be an object or null")
        for name, value in inner.items():
            present = str(names.get(name, name))
            known = flat.get(present)
            if value is not None and known not in (None, value):
                raise ValueError(f"{place}: {name}={value!r}: must be {known!r}, as {present}")
            flat[present] = known if value is None else value
    return flat


def _with_sizes(config: TransformerConfig) -> dict[str, Any]:
    sizes = {
        "num_kv_heads": config.kv_heads,
        "head_size": config.head_dim,
        "mlp_width": config.mlp_dim,
        "embedding_width": config.embedding_dim,
    }
    return dataclasses.asdict(config) | sizes
