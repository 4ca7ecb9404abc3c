"""The tensors of a folder against those of its model, by what the headers say."""

import pathlib
from collections.abc import Iterable, Mapping

import numpy as np

from el_jax.models.pretrained.families import Family
from el_jax.models.pretrained.files import EXACT_IN_FLOAT32, PretrainedError, StoredTensor
from el_jax.models.pretrained.layouts import Places, Shape


def matched(
    folder: pathlib.Path,
    family: Family,
    places: Places,
    shapes: Mapping[str, Shape],
    stored: Mapping[str, StoredTensor],
) -> dict[str, StoredTensor]:
    """The tensor of each place.

    Args:
        folder: the folder, for messages.
        family: of the model.
        places: the tensors that the model needs, by name.
        shapes: of each parameter.
        stored: the tensors that are there, by their names in the files.

    Raises:
        PretrainedError: names a tensor that is missing, unexpected, there twice, of another shape,
            of a number format that float32 does not hold, or no copy where it must be one.
    """
    found = _by_present_name(family, stored)
    if missing := [name for name in places if name not in found]:
        raise PretrainedError(f"{folder}: has no tensor {_first_of(missing)}")
    expected = places.keys() | family.copies.keys()
    further = [
        tensor
        for name, tensor in found.items()
        if name not in expected and not family.is_skipped(name)
    ]
    if further:
        names = _first_of([tensor.name for tensor in further])
        raise PretrainedError(f"{further[0].path}: the model has no tensor {names}")
    for name, place in places.items():
        _check_header(found[name], place.shape(shapes[place.paths[0]]))
    for copy, original in family.copies.items():
        if copy in found and copy not in places:
            _check_copy(found[copy], found[original])
    return {name: found[name] for name in places}


def _by_present_name(family: Family, stored: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    prefixed = any(name.startswith(family.prefix) for name in stored)
    found = dict[str, StoredTensor]()
    for name, tensor in stored.items():
        present = family.present_name(name, prefixed)
        if present in found:
            raise tensor.refuse(f"there again as {found[present].name!r}")
        found[present] = tensor
    return found


def _check_header(tensor: StoredTensor, shape: Shape) -> None:
    if tensor.shape != shape:
        raise tensor.refuse(f"shape {list(tensor.shape)}, must be {list(shape)}")
    if tensor.dtype not in EXACT_IN_FLOAT32:
        raise tensor.refuse(f"dtype {tensor.dtype}, must be one of {', '.join(EXACT_IN_FLOAT32)}")


def _check_copy(tensor: StoredTensor, original: StoredTensor) -> None:
    _check_header(tensor, original.shape)
    if not np.array_equal(tensor.read(), original.read()):
        raise tensor.refuse(f"must equal {original.name!r}, to which config.json ties it")


def _first_of(names: Iterable[str]) -> str:
    first, *others = names
    return f"{first!r}" + (f" (and {len(others)} more)" if others else "")
