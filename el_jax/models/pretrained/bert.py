"""BERT (Devlin et al. 2019) with the head of its masked language model: ``BertForMaskedLM``."""

from el_jax.models.pretrained.families import ACTIVATIONS, Family, Option
from el_jax.models.pretrained.layouts import Place, heads_apart, linear, norm, table

_TABLE, _BIAS = "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"

BERT = Family(
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
        "activation": Option("hidden_act", "gelu", ACTIVATIONS),
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
    outer={
        **table("bert.embeddings.word_embeddings", "tok_emb"),
        **table("bert.embeddings.position_embeddings", "pos_emb"),
        **table("bert.embeddings.token_type_embeddings", "type_emb"),
        **norm("bert.embeddings.LayerNorm", "emb_ln"),
        **linear("cls.predictions.transform.dense", "head_dense"),
        **norm("cls.predictions.transform.LayerNorm", "head_ln"),
        "cls.predictions.decoder.weight": Place(("head/kernel",), transposed=True),
        _BIAS: Place(("head/bias",), inputs=0),
    },
    layers="bert.encoder.layer.{}",
    layer={
        **heads_apart("attention.self.query", "attention.self.key", "attention.self.value"),
        **linear("attention.output.dense", "attn/o", inputs=2),
        **norm("attention.output.LayerNorm", "ln1"),
        **linear("intermediate.dense", "mlp/in"),
        **linear("output.dense", "mlp/out"),
        **norm("output.LayerNorm", "ln2"),
    },
    prefix="bert.",
    renamed={r"LayerNorm\.gamma$": "LayerNorm.weight", r"LayerNorm\.beta$": "LayerNorm.bias"},
    copies={"cls.predictions.decoder.weight": _TABLE, "cls.predictions.decoder.bias": _BIAS},
    skipped=(
        r"bert\.embeddings\.position_ids",
        r"bert\.pooler\..*",
        r"cls\.seq_relationship\..*",
    ),
)
