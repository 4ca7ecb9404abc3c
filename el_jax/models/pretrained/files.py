"""The files of a Hugging Face folder: config.json and safetensors, whole or in shards.

Nothing is unpickled. Only headers are read until every name, shape and number format is known to
be right; the safetensors library refuses a header that claims more bytes than its file has.
"""

import json
import pathlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from el_jax.models.pretrained.layouts import Shape
from el_jax.runtime.errors import PretrainedError
from el_jax.runtime.files import write_durably

CONFIG, TENSORS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
EXACT_IN_FLOAT32 = ("BF16", "F16", "F32")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.msgpack", "*.h5")


class StoredTensor(NamedTuple):
    """A tensor as a header describes it.

    Attributes:
        path: the file.
        name: the tensor's name there.
        shape: its sizes.
        dtype: its number format, in safetensors' words.
        read: gives its numbers, in float32.
    """

    path: pathlib.Path
    name: str
    shape: Shape
    dtype: str
    read: Callable[[], Float[np.ndarray, "..."]]

    def refuse(self, said: str) -> PretrainedError:
        """The error that names file and tensor."""
        return PretrainedError(f"{self.path}: tensor {self.name!r}: {said}")


def read_json(path: pathlib.Path) -> dict[str, Any]:
    """The object of a JSON file.

    Raises:
        PretrainedError: there is no such file, or something else is in it.
    """
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise PretrainedError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise PretrainedError(f"{path}: no JSON ({error})") from error
    if not isinstance(found, dict):
        raise PretrainedError(f"{path}: must be a JSON object, not a {type(found).__name__}")
    return found


def stored_tensors(folder: pathlib.Path) -> dict[str, StoredTensor]:
    """The tensors in the headers of a folder's safetensors files, by name.

    Raises:
        PretrainedError: there are none, or one is damaged, missing or against the index.
    """
    index = folder / INDEX
    if (folder / TENSORS).is_file():
        return _header(folder / TENSORS)
    if not index.is_file():
        raise PretrainedError(f"{folder}: must have {TENSORS} or {INDEX}{_pickles(folder)}")
    found = dict[str, StoredTensor]()
    for shard, names in _shards(index).items():
        header = _header(folder / shard)
        for name in sorted(header.keys() ^ names):
            where = "its header" if name in header else INDEX
            raise PretrainedError(f"{folder / shard}: tensor {name!r}: is only in {where}")
        found |= header
    return found


def write_folder(
    folder: pathlib.Path, fields: Mapping[str, Any], tensors: Mapping[str, np.ndarray]
) -> None:
    """Write config.json and model.safetensors; config.json last, so that it says "complete".

    Raises:
        PretrainedError: the folder has files already.
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise PretrainedError(f"{folder}: has files already; name a new folder")
    (folder / TENSORS).touch()
    mode = (folder / TENSORS).stat().st_mode  # of any new file; save_file's is for its owner alone
    try:
        # transformers opens no file without this word; "pt" for the layout of torch's layers
        save_file(dict(tensors), folder / TENSORS, metadata={"format": "pt"})
    except SafetensorError as error:
        raise PretrainedError(f"{folder / TENSORS}: cannot be written ({error})") from error
    (folder / TENSORS).chmod(mode)
    write_durably(folder / CONFIG, json.dumps(dict(fields), indent=2) + "\n")


def _opened(path: pathlib.Path) -> Any:
    try:
        return safe_open(path, framework="numpy")
    except (SafetensorError, OSError) as error:
        raise PretrainedError(f"{path}: no whole safetensors file ({error})") from error


def _header(path: pathlib.Path) -> dict[str, StoredTensor]:
    if not path.is_file():
        raise PretrainedError(f"{path}: no such file")
    found = {}
    with _opened(path) as file:
        for name in file.keys():  # noqa: SIM118  a file is no mapping
            part = file.get_slice(name)
            shape, dtype = tuple(part.get_shape()), part.get_dtype()
            found[name] = StoredTensor(path, name, shape, dtype, partial(_numbers, path, name))
    return found


def _numbers(path: pathlib.Path, name: str) -> Float[np.ndarray, "..."]:
    with _opened(path) as file:
        return np.asarray(file.get_tensor(name), np.float32)


def _shards(index: pathlib.Path) -> dict[str, set[str]]:
    """Names of the tensors in each file that an index lists."""
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise PretrainedError(f"{index}: weight_map must name the file of each tensor")
    shards = dict[str, set[str]]()
    for name, shard in places.items():
        # a plain name, so that no index leads out of its folder
        if not (isinstance(shard, str) and shard.endswith(".safetensors") and "/" not in shard):
            raise PretrainedError(
                f"{index}: tensor {name!r}: {shard!r} must be a .safetensors file of that folder"
            )
        shards.setdefault(shard, set()).add(name)
    return shards


def _pickles(folder: pathlib.Path) -> str:
    for path in sorted(path for pattern in _PICKLES for path in folder.glob(pattern)):
        return f"; {path.name} is not opened, since a pickle can run code: convert it"
    return ""
