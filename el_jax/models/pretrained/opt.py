"""OPT (Zhang et al. 2022): ``OPTForCausalLM``, opt-350m's norms and projections included."""

from el_jax.models.pretrained.families import ACTIVATIONS, Family, Option
from el_jax.models.pretrained.layouts import heads_apart, linear, norm, table

_BEFORE = Option("do_layer_norm_before", True, {True: "pre", False: "post"})
_BIAS = Option("enable_bias", True)

OPT = Family(
    architecture="OPTForCausalLM",
    options={
        "vocab_size": Option("vocab_size", 50_272),
        "width": Option("hidden_size", 768),
        "num_layers": Option("num_hidden_layers", 12),
        "num_heads": Option("num_attention_heads", 12),
        "mlp_width": Option("ffn_dim", 3072),
        "embedding_width": Option("word_embed_proj_dim", kind=int),
        "max_length": Option("max_position_embeddings", 2048),
        "norm_placement": _BEFORE,
        "final_norm": _BEFORE._replace(values={True: True, False: False}),
        "activation": Option("activation_function", "relu", ACTIVATIONS),
        "attention_bias": _BIAS,
        "attention_out_bias": _BIAS,
        "mlp_bias": _BIAS,
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
    outer={
        **table("model.decoder.embed_tokens", "tok_emb"),
        **table("model.decoder.embed_positions", "pos_emb"),
        **linear("model.decoder.project_in", "project_in"),
        **linear("model.decoder.project_out", "project_out"),
        **norm("model.decoder.final_layer_norm", "final_ln"),
        **linear("lm_head", "head"),
    },
    layers="model.decoder.layers.{}",
    layer={
        **norm("self_attn_layer_norm", "ln1"),
        **norm("final_layer_norm", "ln2"),
        **heads_apart("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        **linear("self_attn.out_proj", "attn/o", inputs=2),
        **linear("fc1", "mlp/in"),
        **linear("fc2", "mlp/out"),
    },
    prefix="model.",
    copies={"lm_head.weight": "model.decoder.embed_tokens.weight"},
)
