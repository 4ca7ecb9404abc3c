"""Parameters from the tensors of a family, and back."""

import pathlib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from el_jax.models.config import TransformerConfig
from el_jax.models.pretrained.families import Family
from el_jax.models.pretrained.files import PretrainedError, StoredTensor
from el_jax.models.pretrained.layouts import Places, Shape
from el_jax.models.pretrained.matching import matched
from el_jax.models.transformer import transformer
from el_jax.types import Params


def params_of(
    source: pathlib.Path,
    family: Family,
    config: TransformerConfig,
    stored: Mapping[str, StoredTensor],
) -> Params:
    """The parameters that a file or folder has.

    Args:
        source: the file or folder, for messages.
        family: of the model.
        config: of the model, as the source says.
        stored: the source's tensors, by their names there.

    Raises:
        PretrainedError: the tensors are not those of the configuration.
    """
    if config.num_layers > len(stored):  # else the lists below would be of any length
        raise PretrainedError(
            f"{source}: asks for {config.num_layers} layers and has {len(stored)} tensors"
        )
    abstract = _abstract(config)
    shapes = {path: leaf.shape for path, leaf in _by_path(abstract)}
    places = _places(family, config, shapes)
    found = matched(source, family, places, shapes, stored)
    params = dict[str, np.ndarray]()
    for name, place in places.items():
        parts = place.unpack(found[name].read(), shapes[place.paths[0]])
        params |= zip(place.paths, parts, strict=True)
    leaves = [jnp.asarray(params[path]) for path in shapes]
    return jax.tree.unflatten(jax.tree.structure(abstract), leaves)


def tensors_of(
    family: Family, config: TransformerConfig, params: Params
) -> dict[str, Float[np.ndarray, "..."]]:
    """The tensors of a family's file, by name.

    Raises:
        PretrainedError: the parameters are not of the configuration.
    """
    shapes = {path: leaf.shape for path, leaf in _by_path(_abstract(config))}
    leaves = {path: np.asarray(leaf, np.float32) for path, leaf in _by_path(params)}
    if {path: leaf.shape for path, leaf in leaves.items()} != shapes:
        raise PretrainedError("the parameters are not of this configuration")
    tensors = {
        theirs: place.pack([leaves[path] for path in place.paths])
        for theirs, place in _places(family, config, shapes).items()
    }
    if not config.tie_head:  # then transformers takes BERT's two biases of the head for two
        tensors |= {copy: tensors[of] for copy, of in family.copies.items() if copy not in tensors}
    return tensors


def _abstract(config: TransformerConfig) -> Params:
    return jax.eval_shape(transformer(config).init, jax.random.key(0))


def _by_path(params: Params) -> list[tuple[str, Any]]:
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return [(jax.tree_util.keystr(path, simple=True, separator="/"), leaf) for path, leaf in leaves]


def _places(family: Family, config: TransformerConfig, shapes: Mapping[str, Shape]) -> Places:
    """The tensors of a model: those of its family whose parameters it has."""
    places = family.places(config.num_layers)
    return {name: place for name, place in places if place.paths[0] in shapes}
