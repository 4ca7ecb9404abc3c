"""Convert a family's tensors to parameters and back."""

import pathlib
import re
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict
from jaxtyping import Float

from el_jax.models.config import TransformerConfig
from el_jax.models.pretrained.families import NO_PARAMETERS
from el_jax.models.pretrained.family import Family
from el_jax.models.pretrained.layouts import Place, Shape
from el_jax.models.transformer import transformer
from el_jax.process.errors import PretrainedError
from el_jax.types import Params

_EXACT_IN_FLOAT32 = ("bfloat16", "float16", "float32")


def params_of(
    source: pathlib.Path,
    family: Family,
    config: TransformerConfig,
    stored: Mapping[str, np.ndarray],
) -> Params:
    """The parameters in a file or folder, in float32.

    Args:
        source: the file or folder, for messages.
        family: the model's family.
        config: the model's configuration, as read from the source.
        stored: the source's tensors, by their names in Hugging Face folders.

    Raises:
        PretrainedError: names a tensor that is missing, unexpected, duplicated, of another shape,
            in a number format that float32 does not hold, or no copy where it must be one.
    """
    shapes = _shapes(config)
    places = _places(family, config, shapes)
    found = _by_present_name(source, family, places, stored)
    params = dict[str, jax.Array]()
    for name, place in places.items():
        part = shapes[place.paths[0]]
        tensor = found[name]
        _check(source, name, tensor, place.shape(part))
        parts = place.unpack(np.asarray(tensor, np.float32), part)
        params |= zip(place.paths, map(jnp.asarray, parts), strict=True)
    return unflatten_dict(params, sep="/")


def tensors_of(
    family: Family, config: TransformerConfig, params: Params
) -> dict[str, Float[np.ndarray, "..."]]:
    """The tensors of a family's file, by name.

    Raises:
        PretrainedError: the parameters do not match the configuration.
    """
    shapes = _shapes(config)
    leaves = {path: np.asarray(x, np.float32) for path, x in flatten_dict(params, sep="/").items()}
    if {path: leaf.shape for path, leaf in leaves.items()} != shapes:
        raise PretrainedError("the parameters are not of this configuration")
    tensors = {
        theirs: place.pack([leaves[path] for path in place.paths])
        for theirs, place in _places(family, config, shapes).items()
    }
    if not config.tie_head:  # then transformers treats BERT's two head biases as separate
        tensors |= {copy: tensors[of] for copy, of in family.copies.items() if copy not in tensors}
    return tensors


def _shapes(config: TransformerConfig) -> dict[str, Shape]:
    abstract = jax.eval_shape(transformer(config).init, jax.random.key(0))
    return {path: leaf.shape for path, leaf in flatten_dict(abstract, sep="/").items()}


def _places(
    family: Family, config: TransformerConfig, shapes: Mapping[str, Shape]
) -> dict[str, Place]:
    """The tensors of a model: those of its family for parameters that it has."""
    places = family.places(config.num_layers)
    return {name: place for name, place in places.items() if place.paths[0] in shapes}


def _by_present_name(
    source: pathlib.Path,
    family: Family,
    places: Mapping[str, Place],
    stored: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """The tensors under the names in ``places``."""
    found, unknown = dict[str, np.ndarray](), list[str]()
    for name, tensor in stored.items():
        present = re.sub(r"\.beta$", ".bias", re.sub(r"\.gamma$", ".weight", name))
        if present not in places and present not in family.copies:
            present = family.prefix + present
        if present in found:
            raise PretrainedError(f"{source}: tensor {name!r}: there again as {present!r}")
        if present in places or present in family.copies:
            found[present] = tensor
        elif not NO_PARAMETERS.fullmatch(name):
            unknown.append(name)
    if missing := [name for name in places if name not in found]:
        raise PretrainedError(f"{source}: has no tensor {_first_of(missing)}")
    if unknown:
        raise PretrainedError(f"{source}: the model has no tensor {_first_of(unknown)}")
    for copy, original in family.copies.items():
        if copy in found and copy not in places and not _equal(found[copy], found[original]):
            said = f"must equal {original!r}, to which config.json ties it"
            raise PretrainedError(f"{source}: tensor {copy!r}: {said}")
    return found


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return np.array_equal(np.asarray(one, np.float32), np.asarray(other, np.float32))


def _check(source: pathlib.Path, name: str, tensor: np.ndarray, shape: Shape) -> None:
    if tensor.shape != shape:
        said = f"shape {list(tensor.shape)}, must be {list(shape)}"
        raise PretrainedError(f"{source}: tensor {name!r}: {said}")
    if tensor.dtype.name not in _EXACT_IN_FLOAT32:
        said = f"dtype {tensor.dtype}, must be one of {', '.join(_EXACT_IN_FLOAT32)}"
        raise PretrainedError(f"{source}: tensor {name!r}: {said}")


def _first_of(names: list[str]) -> str:
    first, *others = names
    return f"{first!r}" + (f" (and {len(others)} more)" if others else "")
