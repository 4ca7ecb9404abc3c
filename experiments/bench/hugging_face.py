"""Our parameters under the names and in the layouts of Hugging Face's GPT-NeoX and GPT-2."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

StateDict = dict[str, np.ndarray]  # float32; torch's Linear keeps [out, in], its Conv1D [in, out]
Tree = Mapping[str, Any]


def gpt_neox(params: Tree) -> StateDict:
    """The state of ``GPTNeoXForCausalLM``."""
    state = {
        "gpt_neox.embed_in.weight": params["tok_emb"],
        "lm_head.weight": params["head"]["kernel"].T,
        **_norm("gpt_neox.final_layer_norm", params["final_ln"]),
    }
    for i, layer in _layers(params):
        name, attention, mlp = f"gpt_neox.layers.{i}", layer["attn"], layer["mlp"]
        width = attention["q"]["kernel"].shape[0]
        # [D, H, 3, K]: of each head its query, key and value stand together
        kernel = np.stack([attention[part]["kernel"] for part in "qkv"], axis=2)
        bias = np.stack([attention[part]["bias"] for part in "qkv"], axis=1)
        state |= {
            **_norm(f"{name}.input_layernorm", layer["ln1"]),
            **_norm(f"{name}.post_attention_layernorm", layer["ln2"]),
            f"{name}.attention.query_key_value.weight": kernel.reshape(width, -1).T,
            f"{name}.attention.query_key_value.bias": bias.reshape(-1),
            f"{name}.attention.dense.weight": attention["o"]["kernel"].reshape(-1, width).T,
            f"{name}.attention.dense.bias": attention["o"]["bias"],
            f"{name}.mlp.dense_h_to_4h.weight": mlp["in"]["kernel"].T,
            f"{name}.mlp.dense_h_to_4h.bias": mlp["in"]["bias"],
            f"{name}.mlp.dense_4h_to_h.weight": mlp["out"]["kernel"].T,
            f"{name}.mlp.dense_4h_to_h.bias": mlp["out"]["bias"],
        }
    return _arrays(state)


def gpt2(params: Tree) -> StateDict:
    """The state of ``GPT2LMHeadModel``."""
    state = {
        "transformer.wte.weight": params["tok_emb"],
        "transformer.wpe.weight": params["pos_emb"],
        "lm_head.weight": params["tok_emb"],
        **_norm("transformer.ln_f", params["final_ln"]),
    }
    for i, layer in _layers(params):
        name, attention, mlp = f"transformer.h.{i}", layer["attn"], layer["mlp"]
        width = attention["q"]["kernel"].shape[0]
        # all queries, then all keys, then all values
        kernel = [attention[part]["kernel"].reshape(width, -1) for part in "qkv"]
        bias = [attention[part]["bias"].reshape(-1) for part in "qkv"]
        state |= {
            **_norm(f"{name}.ln_1", layer["ln1"]),
            **_norm(f"{name}.ln_2", layer["ln2"]),
            f"{name}.attn.c_attn.weight": np.concatenate(kernel, axis=1),
            f"{name}.attn.c_attn.bias": np.concatenate(bias),
            f"{name}.attn.c_proj.weight": attention["o"]["kernel"].reshape(-1, width),
            f"{name}.attn.c_proj.bias": attention["o"]["bias"],
            f"{name}.mlp.c_fc.weight": mlp["in"]["kernel"],
            f"{name}.mlp.c_fc.bias": mlp["in"]["bias"],
            f"{name}.mlp.c_proj.weight": mlp["out"]["kernel"],
            f"{name}.mlp.c_proj.bias": mlp["out"]["bias"],
        }
    return _arrays(state)


STATE_DICTS = {"gpt_neox": gpt_neox, "gpt2": gpt2}


def _layers(params: Tree) -> Iterator[tuple[int, Tree]]:
    number = 0
    while (layer := params.get(f"layers_{number}")) is not None:
        yield number, layer
        number += 1


def _norm(name: str, norm: Tree) -> StateDict:
    return {f"{name}.weight": norm["scale"], f"{name}.bias": norm["bias"]}


def _arrays(state: Mapping[str, Any]) -> StateDict:
    return {name: np.ascontiguousarray(value, np.float32) for name, value in state.items()}
