"""GGUF files of Llama's form, written by the gguf package, give the model they were made of."""

import pathlib

import gguf
import jax
import numpy as np
import pytest
from gguf.quants import quantize
from safetensors.numpy import load_file

from el_jax.models.pretrained import PretrainedError, load_pretrained, read_config
from el_jax.models.pretrained.gguf import load_gguf

FIXTURE = pathlib.Path(__file__).parent / "pretrained" / "llama"
NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "model.layers.": "blk.",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def in_llama_cpp_order(weights, heads):
    """As llama.cpp's convert_hf_to_gguf.py permutes queries and keys."""
    turned = weights.reshape(heads, 2, weights.shape[0] // heads // 2, *weights.shape[1:])
    return turned.swapaxes(1, 2).reshape(weights.shape)


def tensors_of_fixture():
    found = {}
    for name, tensor in load_file(FIXTURE / "model.safetensors").items():
        heads = 4 if "q_proj" in name else 2 if "k_proj" in name else 0
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        found[name] = in_llama_cpp_order(tensor, heads) if heads else tensor
    return found


def write(path, tensors, architecture="llama", quantised=(), **fields):
    writer = gguf.GGUFWriter(path, architecture)
    sizes = {
        "embedding_length": 16, "block_count": 2, "context_length": 10, "feed_forward_length": 20,
        "attention.head_count": 4, "attention.head_count_kv": 2, "rope.dimension_count": 4,
    } | fields  # fmt: skip
    for name, value in sizes.items():
        writer.add_uint32(f"llama.{name}", value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-12)
    writer.add_array("tokenizer.ggml.tokens", [str(i) for i in range(13)])
    for name, tensor in tensors.items():
        kind = gguf.GGMLQuantizationType.F16 if name in quantised else None
        writer.add_tensor(name, quantize(tensor, kind) if kind else tensor, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_file_gives_the_parameters_it_was_made_of(tmp_path):
    tensors = tensors_of_fixture()
    half = "blk.1.ffn_down.weight"
    path = write(tmp_path / "a.gguf", tensors, quantised=(half,))
    _, params, config = load_gguf(path)
    _, expected, original = load_pretrained(FIXTURE)
    kept = expected["layers_1"]["mlp"]["out"].pop("kernel")
    rounded = params["layers_1"]["mlp"]["out"].pop("kernel")
    jax.tree.map(np.testing.assert_array_equal, params, expected)
    np.testing.assert_array_equal(rounded, np.asarray(kept).astype(np.float16))
    assert (config.kv_heads, config.head_dim, config.tie_head) == (2, 4, False)
    assert config.rotary_base == original.rotary_base


def test_a_file_is_read_as_a_folder_is(tmp_path):
    path = write(tmp_path / "a.gguf", tensors_of_fixture())
    _, params, config = load_pretrained(path)
    _, expected, original = load_gguf(path)
    jax.tree.map(np.testing.assert_array_equal, params, expected)
    assert read_config(path) == ("llama", config) == ("llama", original)
    assert read_config(str(FIXTURE)) == ("llama", load_pretrained(FIXTURE)[2])


def test_wrong_files_are_one_line(tmp_path):
    tensors = tensors_of_fixture()
    path = write(tmp_path / "whole.gguf", tensors)
    damaged = {
        "no.gguf": (b"", "no whole GGUF file"),
        "pickle.gguf": (b"\x80\x04" + b"a" * 100, "no whole GGUF file"),
        "cut.gguf": (path.read_bytes()[:-100], "no whole GGUF file"),
    }
    for name, (content, said) in damaged.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(PretrainedError, match=rf"{name}: {said}") as error:
            load_gguf(tmp_path / name)
        assert "\n" not in str(error.value)
    with pytest.raises(PretrainedError, match=r"gone\.gguf: "):
        load_gguf(tmp_path / "gone.gguf")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"architecture": "mamba"}, "general.architecture='mamba': must be 'llama'$"),
        ({"rope.dimension_count": 2}, "llama.rope.dimension_count=2: must be 4$"),
        ({"feed_forward_length": 24}, r"'blk\.0\.ffn_gate\.weight': shape \[20, 16\], must be"),
        ({"block_count": 3}, r"has no tensor 'blk\.2\.attn_norm\.weight'"),
        ({"attention.head_count_kv": 3}, "num_key_value_heads=3: must be a divisor"),
    ],
)
def test_unsupported_fields_are_one_line(changes, said, tmp_path):
    path = write(tmp_path / "a.gguf", tensors_of_fixture(), **changes)
    with pytest.raises(PretrainedError, match=said):
        load_gguf(path)
