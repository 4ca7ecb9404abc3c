import dataclasses
import math

import jax
import pytest

from el_jax.models import PRESETS, transformer

INVALID = [
    ("width", {"width": 0}),
    ("num_layers", {"num_layers": 0}),
    ("num_heads", {"num_heads": 3}),
    ("num_kv_heads", {"num_kv_heads": 3}),
    ("norm_epsilon", {"norm_epsilon": 0.0}),
    ("parallel_residual", {"norm_placement": "post"}),
    ("position", {"position": "alibi"}),
    ("rotary_fraction", {"width": 40, "rotary_fraction": 0.35}),  # 3 of 10: odd
    ("rotary_base", {"rotary_base": float("inf")}),
    ("embedding_dropout", {"embedding_dropout": 1.0}),
    ("residual_dropout", {"residual_dropout": float("nan")}),
    ("matmul_precision", {"matmul_precision": "high"}),
    ("attention_impl", {"attention_impl": "cudnn", "dtype": "float32"}),
    ("attention_impl", {"attention_impl": "cudnn", "dtype": "bfloat16", "attention_dropout": 0.1}),
]


@pytest.mark.parametrize(("field", "changes"), INVALID)
def test_an_invalid_config_raises_naming_field_and_value(field, changes):
    with pytest.raises(ValueError, match=f"^{field}=") as error:
        dataclasses.replace(PRESETS["gpt_neox"], **changes)
    assert "must be" in str(error.value)
    if field in changes:
        assert repr(changes[field]) in str(error.value)


def test_sizes_left_open_follow_the_width():
    config = dataclasses.replace(PRESETS["gpt_neox"], width=64, num_heads=2)
    derived = (config.kv_heads, config.head_dim, config.mlp_dim, config.embedding_dim)
    assert derived == (2, 32, 256, 64)
    assert config.rotary_dim == 8


# published parameter counts; tied tables count once, BERT includes its masked-LM head
PUBLISHED = {
    "gpt2": 124_439_808,
    "opt": 125_239_296,
    "bert": 109_514_298,
    "llama": 134_515_008,
    "pythia_70m": 70_426_624,
    "pythia_160m": 162_322_944,
    "pythia_410m": 405_334_016,
    "pythia_1b": 1_011_781_632,
    "pythia_1.4b": 1_414_647_808,
    "pythia_2.8b": 2_775_208_960,
    "pythia_6.9b": 6_857_302_016,
    "pythia_12b": 11_846_072_320,
}


def count(config):
    shapes = jax.eval_shape(transformer(config).init, jax.random.key(0))
    return sum(math.prod(x.shape) for x in jax.tree.leaves(shapes))


@pytest.mark.parametrize("name", PUBLISHED)
def test_presets_have_the_published_number_of_parameters(name):
    config = PRESETS[name]
    one, two = (count(dataclasses.replace(config, num_layers=n)) for n in (1, 2))
    assert one + (config.num_layers - 1) * (two - one) == PUBLISHED[name]  # layers are alike


@pytest.mark.parametrize(("width", "num_layers"), [(32, 3), (1024, 4)])
def test_the_number_of_parameters_of_gpt_neox(width, num_layers):
    config = dataclasses.replace(
        PRESETS["gpt_neox"], vocab_size=29, width=width, num_layers=num_layers
    )
    assert count(config) == 2 * 29 * width + num_layers * (12 * width**2 + 13 * width) + 2 * width
