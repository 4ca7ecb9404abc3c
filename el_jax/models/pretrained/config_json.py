"""The fields of a Hugging Face config.json, read into a configuration and written from one."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from el_jax.models.config import TransformerConfig
from el_jax.models.pretrained.families import FAMILIES, NOWHERE
from el_jax.models.pretrained.family import Family, Option
from el_jax.process.errors import PretrainedError, require

# fields of a run, not of the computed function; a file keeps those it has an option for
_OF_RUNS = {
    *("init", "init_std", "dtype", "matmul_precision", "attention_impl", "scan_layers"),
    *("remat_layers", "embedding_dropout", "attention_dropout", "residual_dropout"),
}
# places of the numbers of rotary positions; without a type the other ones are not understood
_ROTARY = ("rope_scaling", "rope_parameters")
_UNTYPED = {"rope_theta", "partial_rotary_factor"}


def config_of(family: Family, fields: Mapping[str, Any]) -> TransformerConfig:
    """The configuration that the fields of a config.json describe.

    Raises:
        ValueError: names the field, its value and the allowed ones.
    """
    for place in _ROTARY:
        rotary = fields.get(place) or {}
        kind = rotary.get("rope_type", rotary.get("type"))
        require(place, rotary, kind is not None or rotary.keys() <= _UNTYPED, "given a rope_type")
    causal = {"is_causal": family.always.get("causal", True)}
    for name, allowed in (NOWHERE | causal | dict(family.fixed)).items():
        value = _stated(fields, name)
        require(name, value, value in (None, allowed), repr(allowed))
    read = {ours: _read(option, fields) for ours, option in family.options.items()}
    known = {ours: value for ours, value in read.items() if value is not None}
    try:
        return TransformerConfig(**known, **family.always)
    except ValueError as error:
        ours, _, said = str(error).partition("=")
        name = family.options[ours].name if ours in family.options else ours
        raise ValueError(f"{name}={said}") from error


def fields_of(family: Family, config: TransformerConfig) -> dict[str, Any]:
    """The fields of config.json for a configuration in the family."""
    whole = _with_sizes(config)
    options = {option.name: _write(option, whole[ours]) for ours, option in family.options.items()}
    no_token = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
    return {"architectures": [family.architecture], **options, **no_token, "dtype": "float32"}


def family_of(config: TransformerConfig) -> str:
    """The name in ``FAMILIES`` of the family that a configuration belongs to.

    Raises:
        PretrainedError: no family has such models; names the closest and the differences from it.
    """
    differences = {name: _differences(family, config) for name, family in FAMILIES.items()}
    closest = min(differences, key=lambda name: len(differences[name]))
    if differences[closest]:
        said = ", ".join(differences[closest])
        raise PretrainedError(f"the model has no Hugging Face form; to be {closest}, {said}")
    return closest


def function_of(config: TransformerConfig) -> dict[str, Any]:
    """The fields on which a configuration's logits depend, with every size a number."""
    unread = _OF_RUNS | {"mlp_ratio"}
    if config.position != "rope":
        unread |= {"rotary_fraction", "rotary_base"}
    if config.position != "learned":
        unread |= {"position_offset"}
    return {name: value for name, value in _with_sizes(config).items() if name not in unread}


def _differences(family: Family, config: TransformerConfig) -> list[str]:
    """Fields of a configuration that the family cannot have, each with the allowed value."""
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


def _stated(fields: Mapping[str, Any], *names: str) -> Any:
    """The value of a field under any of its names; None if it is missing.

    Versions of transformers differ in the name, in where they keep the numbers of rotary positions,
    and in which of two names they read, so two that are present must agree.
    """
    places = [fields]
    for rotary in (fields.get(place) or {} for place in _ROTARY):
        places.append({"rope_type": rotary.get("type")} | rotary)
    found = [(n, place[n]) for place in places for n in names if place.get(n) is not None]
    for name, value in found[1:]:
        first, same = found[0]
        require(name, value, value == same, f"{same!r}, as {first}")
    return found[0][1] if found else None


def _read(option: Option, fields: Mapping[str, Any]) -> Any:
    """Our value of an option; None for the default of ``TransformerConfig``."""
    stated = _stated(fields, option.name, *option.other_names)
    value = option.default if stated is None else stated
    if option.values:
        require(option.name, value, value in option.values, f"one of {list(option.values)}")
        return option.values[value]
    return float(value) if isinstance(option.default, float) else value


def _write(option: Option, ours: Any) -> Any:
    if not option.values:
        return ours
    return next(theirs for theirs, known in option.values.items() if known == ours)


def _with_sizes(config: TransformerConfig) -> dict[str, Any]:
    sizes = {
        "num_kv_heads": config.kv_heads,
        "head_size": config.head_dim,
        "mlp_width": config.mlp_dim,
        "embedding_width": config.embedding_dim,
    }
    return dataclasses.asdict(config) | sizes
