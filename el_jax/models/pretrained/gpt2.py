"""GPT-2 (Radford et al. 2019): ``GPT2LMHeadModel``."""

from el_jax.models.pretrained.families import ACTIVATIONS, Family, Option
from el_jax.models.pretrained.layouts import conv1d, heads_side_by_side, linear, norm, table

GPT2 = Family(
    architecture="GPT2LMHeadModel",
    options={
        "vocab_size": Option("vocab_size", 50_257),
        "width": Option("n_embd", 768, other_name="hidden_size"),
        "num_layers": Option("n_layer", 12, other_name="num_hidden_layers"),
        "num_heads": Option("n_head", 12, other_name="num_attention_heads"),
        "mlp_width": Option("n_inner", kind=int),
        "max_length": Option("n_positions", 1024, other_name="max_position_embeddings"),
        "norm_epsilon": Option("layer_norm_epsilon", 1e-5),
        "activation": Option("activation_function", "gelu_new", ACTIVATIONS),
        "tie_head": Option("tie_word_embeddings", True),
        "init_std": Option("initializer_range", 0.02),
        "embedding_dropout": Option("embd_pdrop", 0.1),
        "attention_dropout": Option("attn_pdrop", 0.1),
        "residual_dropout": Option("resid_pdrop", 0.1),
    },
    always={"parallel_residual": False, "position": "learned", "init": "gpt2"},
    fixed={"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False},
    outer={
        **table("transformer.wte", "tok_emb"),
        **table("transformer.wpe", "pos_emb"),
        **norm("transformer.ln_f", "final_ln"),
        **linear("lm_head", "head"),
    },
    layers="transformer.h.{}",
    layer={
        **norm("ln_1", "ln1"),
        **norm("ln_2", "ln2"),
        **heads_side_by_side("attn.c_attn"),
        **conv1d("attn.c_proj", "attn/o", inputs=2),
        **conv1d("mlp.c_fc", "mlp/in"),
        **conv1d("mlp.c_proj", "mlp/out"),
    },
    prefix="transformer.",
    copies={"lm_head.weight": "transformer.wte.weight"},
    skipped=(r"transformer\.h\.\d+\.attn\.(masked_)?bias",),  # the causal mask
)
