"""Small random models of transformers, written and read by transformers itself.

    python -m tests.peers.transformers_models write FOLDER SEED
    python -m tests.peers.transformers_models read FOLDER

Needs PyTorch and imports nothing of el_jax. ``write`` makes a folder of each model, with
tokens and their logits in expected.safetensors; ``read`` loads each folder and prints, as JSON, the
logits of the tokens in its expected.safetensors, and the keys that transformers missed or did not
expect.
"""

import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

NEOX = {
    "hidden_size": 24,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 10,
}
OPT = {
    "hidden_size": 12,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "ffn_dim": 20,
    "max_position_embeddings": 10,
    "pad_token_id": 1,
}
BERT = {
    "hidden_size": 12,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 20,
    "max_position_embeddings": 10,
}
LLAMA = BERT | {"hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2}
MODELS = {
    "gpt2": ("GPT2LMHeadModel", {"n_embd": 12, "n_head": 3, "n_layer": 2, "n_positions": 10}),
    "gpt2_untied": (
        "GPT2LMHeadModel",
        {
            "n_embd": 12,
            "n_head": 2,
            "n_layer": 1,
            "n_positions": 8,
            "n_inner": 20,
            "activation_function": "relu",
            "tie_word_embeddings": False,
        },
    ),
    "gpt_neox": ("GPTNeoXForCausalLM", NEOX),
    "gpt_neox_serial": (
        "GPTNeoXForCausalLM",
        NEOX
        | {
            "use_parallel_residual": False,
            "tie_word_embeddings": True,
            "attention_bias": False,
            "rotary_pct": 1.0,
            "rotary_emb_base": 500,
            "hidden_act": "gelu_new",
        },
    ),
    "opt": ("OPTForCausalLM", OPT),
    "opt_350m": (
        "OPTForCausalLM",
        OPT | {"word_embed_proj_dim": 6, "do_layer_norm_before": False},
    ),
    "opt_untied": (
        "OPTForCausalLM",
        OPT | {"tie_word_embeddings": False, "enable_bias": False, "activation_function": "gelu"},
    ),
    "bert": ("BertForMaskedLM", BERT),
    "bert_untied": ("BertForMaskedLM", BERT | {"tie_word_embeddings": False, "type_vocab_size": 3}),
    "bert_with_pooler": ("BertForPreTraining", BERT),
    "llama": ("LlamaForCausalLM", LLAMA),
    "llama_wide_heads": (
        "LlamaForCausalLM",
        LLAMA
        | {
            "num_key_value_heads": 1,
            "head_dim": 10,
            "attention_bias": True,
            "mlp_bias": True,
            "tie_word_embeddings": True,
            "rope_theta": 1e5,
            "rms_norm_eps": 1e-5,
        },
    ),
    "llama_bfloat16_in_shards": ("LlamaForCausalLM", LLAMA),
    "gpt2_without_head": (
        "GPT2LMHeadModel",
        {"n_embd": 12, "n_head": 3, "n_layer": 1, "n_positions": 10},
    ),
    "qwen3": ("Qwen3ForCausalLM", LLAMA | {"head_dim": 6, "tie_word_embeddings": True}),
    "qwen3_untied": (
        "Qwen3ForCausalLM",
        LLAMA | {"head_dim": 4, "attention_bias": True, "rope_theta": 1e6},
    ),
}
V, SHAPE = 13, (2, 7)


def model_of(name, seed):
    """A model with parameters that all change its logits, in eval mode."""
    architecture, options = MODELS[name]
    kind = getattr(transformers, architecture)
    no_token = dict.fromkeys(("bos_token_id", "eos_token_id"))
    model = kind(kind.config_class(**{"vocab_size": V, **no_token, **options})).eval()
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
        if name == "bert_untied":  # transformers 5 has two parameters where older ones have one
            model.cls.predictions.decoder.bias.copy_(model.cls.predictions.bias)
    return model


@torch.no_grad()
def logits_of(model, tokens):
    """Logits at every token."""
    out = model(tokens)
    return out.prediction_logits if hasattr(out, "prediction_logits") else out.logits


def write(folder, seed):
    """Write the folder of each model."""
    for number, name in enumerate(MODELS):
        model, own = model_of(name, seed + number), folder / name
        if name == "llama_bfloat16_in_shards":
            model.bfloat16().save_pretrained(own, max_shard_size="3KB")
        elif name == "gpt2_without_head":
            model.transformer.save_pretrained(own)
        else:
            model.save_pretrained(own)
        (own / "generation_config.json").unlink(missing_ok=True)
        tokens = torch.randint(V, SHAPE)
        stored = type(model).from_pretrained(own, dtype=torch.float32).eval()
        expected = {"tokens": tokens, "logits": logits_of(stored, tokens).contiguous()}
        save_file(expected, own / "expected.safetensors")


def read(folder):
    """Logits and loading messages of transformers, for each folder."""
    found = {}
    for own in sorted(folder.iterdir()):
        (architecture,) = json.loads((own / "config.json").read_text())["architectures"]
        kind = getattr(transformers, architecture)
        model, info = kind.from_pretrained(own, output_loading_info=True)
        tokens = load_file(own / "expected.safetensors")["tokens"]
        found[own.name] = {
            "logits": logits_of(model.eval(), tokens).tolist(),
            "refused": {what: [str(key) for key in keys] for what, keys in info.items() if keys},
        }
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    task, place, *numbers = sys.argv[1:]
    if task == "write":
        write(pathlib.Path(place), int(numbers[0]))
    else:
        print(json.dumps(read(pathlib.Path(place))))
