"""The files of a Hugging Face folder: config.json and safetensors, whole or in shards.

Nothing is unpickled.
"""

import json
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from el_jax.process.errors import PretrainedError
from el_jax.process.files import write_durably

CONFIG, TENSORS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"


def read_json(path: pathlib.Path) -> dict[str, Any]:
    """The object of a JSON file.

    Raises:
        PretrainedError: there is no such file, or it holds something else.
    """
    try:
        return dict(json.loads(path.read_bytes()))
    except OSError as error:
        raise PretrainedError(f"{path}: {error.strerror}") from error
    except (TypeError, ValueError) as error:
        raise PretrainedError(f"{path}: no JSON object ({error})") from error


def tensor_files(folder: pathlib.Path) -> list[pathlib.Path]:
    """The safetensors file of a folder, or its shards.

    Raises:
        PretrainedError: there are none.
    """
    if (folder / TENSORS).is_file():
        return [folder / TENSORS]
    if (folder / INDEX).is_file():
        names = set(read_json(folder / INDEX).get("weight_map", {}).values())
        return [folder / name for name in sorted(names)]
    said = "a pickle, such as pytorch_model.bin, is not opened, since it can run code"
    raise PretrainedError(f"{folder}: must have {TENSORS} or {INDEX}; {said}")


def read_tensors(folder: pathlib.Path) -> dict[str, np.ndarray]:
    """The tensors of a folder's safetensors files, by name.

    Raises:
        PretrainedError: there are none, or a file is missing or damaged.
    """
    tensors = dict[str, np.ndarray]()
    for path in tensor_files(folder):
        try:
            tensors |= load_file(path)
        except (SafetensorError, OSError) as error:
            raise PretrainedError(f"{path}: no whole safetensors file ({error})") from error
    return tensors


def write_folder(
    folder: pathlib.Path, fields: Mapping[str, Any], tensors: Mapping[str, np.ndarray]
) -> None:
    """Write model.safetensors and then config.json, whose presence marks a complete folder.

    Raises:
        PretrainedError: the folder has files already.
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise PretrainedError(f"{folder}: has files already; name a new folder")
    (folder / TENSORS).touch()
    mode = (folder / TENSORS).stat().st_mode  # of any new file; save_file's is owner-only
    try:
        # transformers opens no file without this key; "pt" stands for torch's layout of layers
        save_file(dict(tensors), folder / TENSORS, metadata={"format": "pt"})
    except SafetensorError as error:
        raise PretrainedError(f"{folder / TENSORS}: cannot be written ({error})") from error
    (folder / TENSORS).chmod(mode)
    write_durably(folder / CONFIG, json.dumps(dict(fields), indent=2) + "\n")
