"""GPT-NeoX (Black et al. 2022) and Pythia (Biderman et al. 2023): ``GPTNeoXForCausalLM``."""

from el_jax.models.pretrained.families import ACTIVATIONS, Family, Option
from el_jax.models.pretrained.layouts import heads_in_turn, linear, norm, table

GPT_NEOX = Family(
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
        "rotary_fraction": Option("rotary_pct", 0.25, other_name="partial_rotary_factor"),
        "rotary_base": Option("rotary_emb_base", 10_000.0, other_name="rope_theta"),
        "activation": Option("hidden_act", "gelu", ACTIVATIONS),
        "attention_bias": Option("attention_bias", True),
        "attention_out_bias": Option("attention_bias", True),
        "tie_head": Option("tie_word_embeddings", False),
        "init_std": Option("initializer_range", 0.02),
        "attention_dropout": Option("attention_dropout", 0.0),
        "embedding_dropout": Option("hidden_dropout", 0.0),
        "residual_dropout": Option("hidden_dropout", 0.0),
    },
    always={"position": "rope"},
    outer={
        **table("gpt_neox.embed_in", "tok_emb"),
        **norm("gpt_neox.final_layer_norm", "final_ln"),
        **linear("embed_out", "head"),
    },
    layers="gpt_neox.layers.{}",
    layer={
        **norm("input_layernorm", "ln1"),
        **norm("post_attention_layernorm", "ln2"),
        **heads_in_turn("attention.query_key_value"),
        **linear("attention.dense", "attn/o", inputs=2),
        **linear("mlp.dense_h_to_4h", "mlp/in"),
        **linear("mlp.dense_4h_to_h", "mlp/out"),
    },
    prefix="gpt_neox.",
    renamed={r"^lm_head\.": "embed_out."},  # transformers 5 in memory; files keep the old name
    copies={"embed_out.weight": "gpt_neox.embed_in.weight"},
    skipped=(r"gpt_neox\.layers\.\d+\.attention\.((masked_)?bias|rotary_emb\.inv_freq)",),
)
