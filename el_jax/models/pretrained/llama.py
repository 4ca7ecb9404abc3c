"""Llama (Touvron et al. 2023) and models of its form, SmolLM2 among them: ``LlamaForCausalLM``."""

from el_jax.models.pretrained.families import ACTIVATIONS, Family, Option
from el_jax.models.pretrained.layouts import heads_apart, linear, norm, table

_ATTENTION_BIAS = Option("attention_bias", False)

LLAMA = Family(
    architecture="LlamaForCausalLM",
    options={
        "vocab_size": Option("vocab_size", 32_000),
        "width": Option("hidden_size", 4096),
        "num_layers": Option("num_hidden_layers", 32),
        "num_heads": Option("num_attention_heads", 32),
        "num_kv_heads": Option("num_key_value_heads", kind=int),
        "head_size": Option("head_dim", kind=int),
        "mlp_width": Option("intermediate_size", 11_008),
        "max_length": Option("max_position_embeddings", 2048),
        "norm_epsilon": Option("rms_norm_eps", 1e-6),
        "rotary_base": Option("rope_theta", 10_000.0),
        "activation": Option("hidden_act", "silu", ACTIVATIONS),
        "attention_bias": _ATTENTION_BIAS,
        "attention_out_bias": _ATTENTION_BIAS,
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
    outer={
        **table("model.embed_tokens", "tok_emb"),
        **norm("model.norm", "final_ln"),
        **linear("lm_head", "head"),
    },
    layers="model.layers.{}",
    layer={
        **norm("input_layernorm", "ln1"),
        **norm("post_attention_layernorm", "ln2"),
        **heads_apart("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        **linear("self_attn.o_proj", "attn/o", inputs=2),
        **linear("mlp.gate_proj", "mlp/gate"),
        **linear("mlp.up_proj", "mlp/in"),
        **linear("mlp.down_proj", "mlp/out"),
    },
    prefix="model.",
    copies={"lm_head.weight": "model.embed_tokens.weight"},
    skipped=(r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq",),
)
