"""GGUF files of Llama's form, written by the gguf package, give the model they were made from."""

import pathlib

import gguf
import jax
import numpy as np
import pytest
from gguf.quants import quantize
from safetensors.numpy import load_file

from el_jax.models import pretrained
from el_jax.models.pretrained import PretrainedError, load_pretrained, read_config

Q = gguf.GGMLQuantizationType
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
    """Permute queries and keys as llama.cpp's convert_hf_to_gguf.py does."""
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


def write(path, tensors, architecture="llama", quantised=None, **fields):
    writer = gguf.GGUFWriter(path, architecture)
    sizes = {
        "embedding_length": 16,
        "block_count": 2,
        "context_length": 10,
        "feed_forward_length": 20,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "rope.dimension_count": 4,
    } | fields
    for name, value in sizes.items():
        kinds = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32}
        kinds[type(value)](f"llama.{name}", value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-12)
    writer.add_array("tokenizer.ggml.tokens", [str(i) for i in range(13)])
    for name, tensor in tensors.items():
        kind = (quantised or {}).get(name)
        writer.add_tensor(name, quantize(tensor, kind) if kind else tensor, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_file_gives_the_parameters_it_was_made_of(tmp_path):
    tensors = tensors_of_fixture()
    half = "blk.1.ffn_down.weight"
    path = write(tmp_path / "a.gguf", tensors, quantised={half: Q.F16})
    _, params, config = load_pretrained(path)
    _, expected, original = load_pretrained(FIXTURE)
    kept = expected["layers_1"]["mlp"]["out"].pop("kernel")
    rounded = params["layers_1"]["mlp"]["out"].pop("kernel")
    jax.tree.map(np.testing.assert_array_equal, params, expected)
    np.testing.assert_array_equal(rounded, np.asarray(kept).astype(np.float16))
    assert (config.kv_heads, config.head_dim, config.tie_head) == (2, 4, False)
    assert config.rotary_base == original.rotary_base


def four_bits(weights):
    """Q4_1 of ggml-quants.c: 32 numbers in a row, on 16 levels from the least to the largest."""
    blocks = weights.reshape(-1, 32)
    least = blocks.min(1, keepdims=True)
    step = (blocks.max(1, keepdims=True) - least) / 15
    kept = np.floor((blocks - least) / step + 0.5).clip(0, 15)
    return (kept * step.astype(np.float16) + least.astype(np.float16)).reshape(weights.shape)


def eight_bits(weights):
    """Q8_0: 32 numbers in a row as multiples of 1/127 of the largest."""
    blocks = weights.reshape(-1, 32)
    step = abs(blocks).max(1, keepdims=True) / 127
    return (np.round(blocks / step) * step.astype(np.float16)).reshape(weights.shape)


def test_numbers_in_four_and_eight_bits_become_float32(tmp_path):
    """The formats of SmolLM2's file, also for queries, whose order differs from ours."""
    rng = np.random.default_rng(0)
    sizes = {"attn_q": (32, 32), "attn_k": (16, 32), "attn_v": (16, 32), "attn_output": (32, 32)}
    sizes |= {"ffn_gate": (64, 32), "ffn_up": (64, 32), "ffn_down": (32, 64)}
    whole = {
        "token_embd.weight": rng.normal(size=(13, 32)),
        "output_norm.weight": np.ones(32),
        **{f"blk.0.{name}.weight": rng.normal(size=size) for name, size in sizes.items()},
        **{f"blk.0.{name}_norm.weight": np.ones(32) for name in ("attn", "ffn")},
    }
    whole = {name: values.astype(np.float32) for name, values in whole.items()}
    rounded = {
        name: eight_bits(values) if name == "token_embd.weight" else four_bits(values)
        for name, values in whole.items()
        if values.ndim == 2
    }
    kinds = {name: Q.Q8_0 if name == "token_embd.weight" else Q.Q4_1 for name in rounded}
    fields = {"embedding_length": 32, "block_count": 1, "feed_forward_length": 64}
    fields["rope.dimension_count"] = 8
    path = write(tmp_path / "small.gguf", whole, quantised=kinds, **fields)
    _, params, _ = load_pretrained(path)
    _, expected, _ = load_pretrained(write(tmp_path / "float32.gguf", whole | rounded, **fields))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6), params, expected
    )
    assert params["tok_emb"].dtype == np.float32
    assert abs(params["tok_emb"] - whole["token_embd.weight"]).max() < 0.02


def test_further_fields_may_say_what_we_do(tmp_path):
    same = {"rope.scaling.factor": 1.0, "attention.causal": True, "vocab_size": 13}
    path = write(tmp_path / "a.gguf", tensors_of_fixture(), **same)
    assert read_config(path) == ("llama", load_pretrained(path)[2])
    assert read_config(str(FIXTURE)) == ("llama", load_pretrained(FIXTURE)[2])


def test_smollm2_is_the_name_of_the_file_in_its_package(tmp_path, monkeypatch):
    path = write(tmp_path / "a.gguf", tensors_of_fixture())
    monkeypatch.setattr(pretrained, "smollm2_gguf", lambda: path)
    assert pretrained.is_pretrained("smollm2")
    assert read_config("smollm2") == read_config(path)
    assert load_pretrained("smollm2")[2] == load_pretrained(path)[2]


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(PretrainedError, match=r"gone\.gguf: No such file"):
        load_pretrained(tmp_path / "gone.gguf")


@pytest.mark.parametrize("kept", [0, 300, -100])  # bytes: header, fields, tensors
def test_a_file_that_was_cut_short_is_one_line(kept, tmp_path):
    path = write(tmp_path / "a.gguf", tensors_of_fixture())
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(PretrainedError, match=r"a\.gguf: no whole GGUF file") as error:
        load_pretrained(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"architecture": "mamba"}, "general.architecture='mamba': must be 'llama'$"),
        (
            {"feed_forward_length": 24},
            r"'model\.layers\.0\.mlp\.gate_proj\.weight': shape \[20, 16\], must",
        ),
        ({"rope.scaling.factor": 4.0}, r"llama\.rope\.scaling\.factor=4\.0: must be 1$"),
        ({"logit_scale": 2.0}, r"llama\.logit_scale=2\.0: must be absent, as unsupported$"),
    ],
)
def test_unsupported_fields_are_one_line(changes, said, tmp_path):
    path = write(tmp_path / "a.gguf", tensors_of_fixture(), **changes)
    with pytest.raises(PretrainedError, match=said):
        load_pretrained(path)
