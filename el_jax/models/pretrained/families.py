"""Families of published transformers, one table each.

The keys of options are our fields of ``TransformerConfig``; the keys of tensors are module names in
the files, with braces for the layer number.
"""

import re

from el_jax.models.pretrained.family import Family, Option
from el_jax.models.pretrained.layouts import Place, conv1d, linear, norm, table

# options that must have these values in every family
NOWHERE = {
    "add_cross_attention": False,
    "is_encoder_decoder": False,
    "pruned_heads": {},
    "quantization_config": None,
    "rope_type": "default",
}
# tensors in the files that are not parameters (masks, positions) or not of the language model
NO_PARAMETERS = re.compile(
    r".*\.(attn|attention)\.(masked_)?bias|.*\.rotary_emb\.inv_freq|.*\.position_ids"
    r"|bert\.pooler\..*|cls\.seq_relationship\..*"
)
_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
_QKV = ("layers_{}/attn/q", "layers_{}/attn/k", "layers_{}/attn/v")

# Radford et al. 2019
_GPT2 = Family(
    architecture="GPT2LMHeadModel",
    options={
        "vocab_size": Option("vocab_size", 50_257),
        "width": Option("n_embd", 768, other_names=("hidden_size",)),
        "num_layers": Option("n_layer", 12, other_names=("num_hidden_layers",)),
        "num_heads": Option("n_head", 12, other_names=("num_attention_heads",)),
        "mlp_width": Option("n_inner"),
        "max_length": Option("n_positions", 1024, other_names=("max_position_embeddings",)),
        "norm_epsilon": Option("layer_norm_epsilon", 1e-5),
        "activation": Option("activation_function", "gelu_new", _ACTIVATIONS),
        "tie_head": Option("tie_word_embeddings", True),
        "init_std": Option("initializer_range", 0.02),
        "embedding_dropout": Option("embd_pdrop", 0.1),
        "attention_dropout": Option("attn_pdrop", 0.1),
        "residual_dropout": Option("resid_pdrop", 0.1),
    },
    always={"parallel_residual": False, "position": "learned", "init": "gpt2"},
    fixed={"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False},
    tensors={
        "transformer.wte": table("tok_emb"),
        "transformer.wpe": table("pos_emb"),
        "transformer.h.{}.ln_1": norm("layers_{}/ln1"),
        "transformer.h.{}.attn.c_attn": conv1d(*_QKV, stacked=-3),  # all queries, all keys, ...
        "transformer.h.{}.attn.c_proj": conv1d("layers_{}/attn/o", inputs=2),
        "transformer.h.{}.ln_2": norm("layers_{}/ln2"),
        "transformer.h.{}.mlp.c_fc": conv1d("layers_{}/mlp/in"),
        "transformer.h.{}.mlp.c_proj": conv1d("layers_{}/mlp/out"),
        "transformer.ln_f": norm("final_ln"),
        "lm_head": linear("head"),
    },
    prefix="transformer.",
    copies={"lm_head.weight": "transformer.wte.weight"},
)

# Black et al. 2022; Pythia (Biderman et al. 2023)
_GPT_NEOX = Family(
    architecture="GPTNeoXForCausalLM",
    options={
        "vocab_size": Option("vocab_size", 50_432),
        "width": Option("hidden_size", 6144),
        "num_layers": Option("num_hidden_layers", 44),
        "num_heads": Option("num_attention_heads", 64),
        "mlp_width": Option("intermediate_size", 24_576),
        "max_length": Option("max_position_embeddings", 2048),
        "norm_epsilon": Option("layer_norm_eps", 1e-5),
        "parallel_residual": Option("use_parallel_residual", True),
        "rotary_fraction": Option("rotary_pct", 0.25, other_names=("partial_rotary_factor",)),
        "rotary_base": Option("rotary_emb_base", 10_000.0, other_names=("rope_theta",)),
        "activation": Option("hidden_act", "gelu", _ACTIVATIONS),
        "attention_bias": Option("attention_bias", True),
        "attention_out_bias": Option("attention_bias", True),
        "tie_head": Option("tie_word_embeddings", False),
        "init_std": Option("initializer_range", 0.02),
        "attention_dropout": Option("attention_dropout", 0.0),
        "embedding_dropout": Option("hidden_dropout", 0.0),
        "residual_dropout": Option("hidden_dropout", 0.0),
    },
    always={"position": "rope"},
    fixed={},
    tensors={
        "gpt_neox.embed_in": table("tok_emb"),
        "gpt_neox.layers.{}.input_layernorm": norm("layers_{}/ln1"),
        "gpt_neox.layers.{}.post_attention_layernorm": norm("layers_{}/ln2"),
        # query, key and value of each head in turn
        "gpt_neox.layers.{}.attention.query_key_value": linear(*_QKV, stacked=-2),
        "gpt_neox.layers.{}.attention.dense": linear("layers_{}/attn/o", inputs=2),
        "gpt_neox.layers.{}.mlp.dense_h_to_4h": linear("layers_{}/mlp/in"),
        "gpt_neox.layers.{}.mlp.dense_4h_to_h": linear("layers_{}/mlp/out"),
        "gpt_neox.final_layer_norm": norm("final_ln"),
        "embed_out": linear("head"),
    },
    prefix="gpt_neox.",
    copies={"embed_out.weight": "gpt_neox.embed_in.weight"},
)

# Zhang et al. 2022; opt-350m's norms and projections included
_OPT = Family(
    architecture="OPTForCausalLM",
    options={
        "vocab_size": Option("vocab_size", 50_272),
        "width": Option("hidden_size", 768),
        "num_layers": Option("num_hidden_layers", 12),
        "num_heads": Option("num_attention_heads", 12),
        "mlp_width": Option("ffn_dim", 3072),
        "embedding_width": Option("word_embed_proj_dim"),
        "max_length": Option("max_position_embeddings", 2048),
        "norm_placement": Option("do_layer_norm_before", True, {True: "pre", False: "post"}),
        "final_norm": Option("do_layer_norm_before", True),
        "activation": Option("activation_function", "relu", _ACTIVATIONS),
        "attention_bias": Option("enable_bias", True),
        "attention_out_bias": Option("enable_bias", True),
        "mlp_bias": Option("enable_bias", True),
        "tie_head": Option("tie_word_embeddings", True),
        "init_std": Option("init_std", 0.02),
        "attention_dropout": Option("attention_dropout", 0.0),
        "residual_dropout": Option("dropout", 0.1),
    },
    always={"parallel_residual": False, "position": "learned", "position_offset": 2},
    fixed={
        "layer_norm_elementwise_affine": True,
        "_remove_final_layer_norm": False,
        "layerdrop": 0.0,
    },
    tensors={
        "model.decoder.embed_tokens": table("tok_emb"),
        "model.decoder.embed_positions": table("pos_emb"),
        "model.decoder.project_in": linear("project_in"),
        "model.decoder.layers.{}.self_attn_layer_norm": norm("layers_{}/ln1"),
        "model.decoder.layers.{}.self_attn.q_proj": linear("layers_{}/attn/q"),
        "model.decoder.layers.{}.self_attn.k_proj": linear("layers_{}/attn/k"),
        "model.decoder.layers.{}.self_attn.v_proj": linear("layers_{}/attn/v"),
        "model.decoder.layers.{}.self_attn.out_proj": linear("layers_{}/attn/o", inputs=2),
        "model.decoder.layers.{}.final_layer_norm": norm("layers_{}/ln2"),
        "model.decoder.layers.{}.fc1": linear("layers_{}/mlp/in"),
        "model.decoder.layers.{}.fc2": linear("layers_{}/mlp/out"),
        "model.decoder.project_out": linear("project_out"),
        "model.decoder.final_layer_norm": norm("final_ln"),
        "lm_head": linear("head"),
    },
    prefix="model.",
    copies={"lm_head.weight": "model.decoder.embed_tokens.weight"},
)

# Devlin et al. 2019, with the head of its masked language model
_BERT = Family(
    architecture="BertForMaskedLM",
    options={
        "vocab_size": Option("vocab_size", 30_522),
        "width": Option("hidden_size", 768),
        "num_layers": Option("num_hidden_layers", 12),
        "num_heads": Option("num_attention_heads", 12),
        "mlp_width": Option("intermediate_size", 3072),
        "max_length": Option("max_position_embeddings", 512),
        "num_token_types": Option("type_vocab_size", 2),
        "norm_epsilon": Option("layer_norm_eps", 1e-12),
        "activation": Option("hidden_act", "gelu", _ACTIVATIONS),
        "tie_head": Option("tie_word_embeddings", True),
        "init_std": Option("initializer_range", 0.02),
        "attention_dropout": Option("attention_probs_dropout_prob", 0.1),
        "embedding_dropout": Option("hidden_dropout_prob", 0.1),
        "residual_dropout": Option("hidden_dropout_prob", 0.1),
    },
    always={
        "norm_placement": "post",
        "parallel_residual": False,
        "final_norm": False,
        "embedding_norm": True,
        "position": "learned",
        "head_bias": True,
        "head_transform": True,
        "causal": False,
    },
    fixed={"is_decoder": False, "position_embedding_type": "absolute"},
    tensors={
        "bert.embeddings.word_embeddings": table("tok_emb"),
        "bert.embeddings.position_embeddings": table("pos_emb"),
        "bert.embeddings.token_type_embeddings": table("type_emb"),
        "bert.embeddings.LayerNorm": norm("emb_ln"),
        "bert.encoder.layer.{}.attention.self.query": linear("layers_{}/attn/q"),
        "bert.encoder.layer.{}.attention.self.key": linear("layers_{}/attn/k"),
        "bert.encoder.layer.{}.attention.self.value": linear("layers_{}/attn/v"),
        "bert.encoder.layer.{}.attention.output.dense": linear("layers_{}/attn/o", inputs=2),
        "bert.encoder.layer.{}.attention.output.LayerNorm": norm("layers_{}/ln1"),
        "bert.encoder.layer.{}.intermediate.dense": linear("layers_{}/mlp/in"),
        "bert.encoder.layer.{}.output.dense": linear("layers_{}/mlp/out"),
        "bert.encoder.layer.{}.output.LayerNorm": norm("layers_{}/ln2"),
        "cls.predictions.transform.dense": linear("head_dense"),
        "cls.predictions.transform.LayerNorm": norm("head_ln"),
        "cls.predictions.decoder": {"weight": Place(("head/kernel",), transposed=True)},
        "cls.predictions": {"bias": Place(("head/bias",), inputs=0)},
    },
    prefix="bert.",
    copies={
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
)

# Touvron et al. 2023, and models of its form, SmolLM2 among them
_LLAMA = Family(
    architecture="LlamaForCausalLM",
    options={
        "vocab_size": Option("vocab_size", 32_000),
        "width": Option("hidden_size", 4096),
        "num_layers": Option("num_hidden_layers", 32),
        "num_heads": Option("num_attention_heads", 32),
        "num_kv_heads": Option("num_key_value_heads"),
        "head_size": Option("head_dim"),
        "mlp_width": Option("intermediate_size", 11_008),
        "max_length": Option("max_position_embeddings", 2048),
        "norm_epsilon": Option("rms_norm_eps", 1e-6),
        "rotary_base": Option("rope_theta", 10_000.0),
        "activation": Option("hidden_act", "silu", _ACTIVATIONS),
        "attention_bias": Option("attention_bias", False),
        "attention_out_bias": Option("attention_bias", False),
        "mlp_bias": Option("mlp_bias", False),
        "tie_head": Option("tie_word_embeddings", False),
        "init_std": Option("initializer_range", 0.02),
        "attention_dropout": Option("attention_dropout", 0.0),
    },
    always={
        "norm": "rmsnorm",
        "parallel_residual": False,
        "position": "rope",
        "rotary_fraction": 1.0,
        "gated_mlp": True,
    },
    fixed={"partial_rotary_factor": 1.0},
    tensors={
        "model.embed_tokens": table("tok_emb"),
        "model.layers.{}.input_layernorm": norm("layers_{}/ln1"),
        "model.layers.{}.self_attn.q_proj": linear("layers_{}/attn/q"),
        "model.layers.{}.self_attn.k_proj": linear("layers_{}/attn/k"),
        "model.layers.{}.self_attn.v_proj": linear("layers_{}/attn/v"),
        "model.layers.{}.self_attn.o_proj": linear("layers_{}/attn/o", inputs=2),
        "model.layers.{}.post_attention_layernorm": norm("layers_{}/ln2"),
        "model.layers.{}.mlp.gate_proj": linear("layers_{}/mlp/gate"),
        "model.layers.{}.mlp.up_proj": linear("layers_{}/mlp/in"),
        "model.layers.{}.mlp.down_proj": linear("layers_{}/mlp/out"),
        "model.norm": norm("final_ln"),
        "lm_head": linear("head"),
    },
    prefix="model.",
    copies={"lm_head.weight": "model.embed_tokens.weight"},
)

# Yang et al. 2025, arXiv 2505.09388; sliding windows are refused
_QWEN3 = _LLAMA._replace(
    architecture="Qwen3ForCausalLM",
    options={
        **{ours: option for ours, option in _LLAMA.options.items() if ours != "mlp_bias"},
        "num_kv_heads": Option("num_key_value_heads", 32),
        "head_size": Option("head_dim", 128),
        "max_length": Option("max_position_embeddings", 32_768),
    },
    always={**_LLAMA.always, "mlp_bias": False, "qk_norm": True},
    fixed={**_LLAMA.fixed, "use_sliding_window": False},
    tensors={
        **_LLAMA.tensors,
        "model.layers.{}.self_attn.q_norm": norm("layers_{}/attn/q_norm"),
        "model.layers.{}.self_attn.k_norm": norm("layers_{}/attn/k_norm"),
    },
)

FAMILIES: dict[str, Family] = {
    "gpt2": _GPT2,
    "gpt_neox": _GPT_NEOX,
    "opt": _OPT,
    "bert": _BERT,
    "llama": _LLAMA,
    "qwen3": _QWEN3,
}
