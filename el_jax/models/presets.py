"""Published transformers as configurations; ``dataclasses.replace`` gives them other sizes.

Numbers that depend on the width follow it (``mlp_ratio``, ``init``). Head counts do not: a new
``num_heads`` that ``num_kv_heads`` does not divide is refused.
"""

import dataclasses

from el_jax.models.config import TransformerConfig

# Black et al. 2022, arXiv 2204.06745; switches of Hugging Face's GPTNeoXConfig, vocabulary of
# Pythia (Biderman et al. 2023, arXiv 2304.01373), the sizes of a four-layer copy-task model.
GPT_NEOX = TransformerConfig(vocab_size=50_304, width=1024, num_layers=4, num_heads=4)

# Biderman et al. 2023, arXiv 2304.01373, Table 1; names as there. Layers, width, heads, vocabulary.
_PYTHIA = {
    "70m": (6, 512, 8, 50_304),
    "160m": (12, 768, 12, 50_304),
    "410m": (24, 1024, 16, 50_304),
    "1b": (16, 2048, 8, 50_304),
    "1.4b": (24, 2048, 16, 50_304),
    "2.8b": (32, 2560, 32, 50_304),
    "6.9b": (32, 4096, 32, 50_432),
    "12b": (36, 5120, 40, 50_688),
}
PYTHIA = {
    f"pythia_{size}": dataclasses.replace(
        GPT_NEOX, num_layers=layers, width=width, num_heads=heads, vocab_size=vocab_size
    )
    for size, (layers, width, heads, vocab_size) in _PYTHIA.items()
}

# Radford et al. 2019; gpt2 (124M).
GPT2 = TransformerConfig(
    vocab_size=50_257,
    width=768,
    num_layers=12,
    num_heads=12,
    max_length=1024,
    parallel_residual=False,
    position="learned",
    activation="gelu_tanh",
    tie_head=True,
    init="gpt2",
    embedding_dropout=0.1,
    attention_dropout=0.1,
    residual_dropout=0.1,
)

# Zhang et al. 2022, arXiv 2205.01068; opt-125m. For opt-350m: width 1024, 24 layers, 16 heads,
# embedding_width 512, norm_placement "post", final_norm False.
OPT = TransformerConfig(
    vocab_size=50_272,
    width=768,
    num_layers=12,
    num_heads=12,
    max_length=2048,
    parallel_residual=False,
    position="learned",
    position_offset=2,
    activation="relu",
    tie_head=True,
    residual_dropout=0.1,
)

# Devlin et al. 2019, arXiv 1810.04805; bert-base-uncased with its masked-LM head.
BERT = TransformerConfig(
    vocab_size=30_522,
    width=768,
    num_layers=12,
    num_heads=12,
    max_length=512,
    norm_epsilon=1e-12,
    norm_placement="post",
    parallel_residual=False,
    final_norm=False,
    embedding_norm=True,
    position="learned",
    num_token_types=2,
    tie_head=True,
    head_bias=True,
    head_transform=True,
    causal=False,
    embedding_dropout=0.1,
    attention_dropout=0.1,
    residual_dropout=0.1,
)

# Izsak, Berchansky, Levy 2021, arXiv 2104.07705: BERT that normalises before each branch, trained
# with an academic budget; the models of Liu, Xie, Li, Ma 2023 (arXiv 2210.14199).
BUDGET_BERT = dataclasses.replace(BERT, norm_placement="pre", final_norm=True)

# Touvron et al. 2023, arXiv 2302.13971, in the sizes of SmolLM2-135M (Allal et al. 2025,
# arXiv 2502.02737).
LLAMA = TransformerConfig(
    vocab_size=49_152,
    width=576,
    num_layers=30,
    num_heads=9,
    num_kv_heads=3,
    mlp_ratio=8 / 3,
    max_length=8192,
    norm="rmsnorm",
    parallel_residual=False,
    rotary_fraction=1.0,
    rotary_base=100_000.0,
    activation="silu",
    gated_mlp=True,
    attention_bias=False,
    attention_out_bias=False,
    mlp_bias=False,
    tie_head=True,
    init="width",
)

FAMILIES: dict[str, TransformerConfig] = {
    "gpt_neox": GPT_NEOX,
    "gpt2": GPT2,
    "opt": OPT,
    "bert": BERT,
    "budget_bert": BUDGET_BERT,
    "llama": LLAMA,
}
PRESETS = {**FAMILIES, **PYTHIA}
