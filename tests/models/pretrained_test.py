"""Hugging Face folders give transformers' own logits, and are read and written to the bit.

The folders in tests/models/pretrained are made by: python -m tests.peers.make_fixtures
"""

import dataclasses
import json
import pathlib
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_models import TINY, batch_of, random_params

from el_jax.models import PRESETS, transformer
from el_jax.models.pretrained import FAMILIES, PretrainedError, load_pretrained, save_pretrained
from el_jax.models.pretrained.config_json import config_of, function_of

FIXTURES = pathlib.Path(__file__).parent / "pretrained"
NAMES = sorted(path.name for path in FIXTURES.iterdir())
# transformers wrote these in another form: without prefix, in bfloat16, with a second head
CHANGED = {"gpt2_without_head", "llama_bfloat16_in_shards", "bert_with_pooler"}


def equal_trees(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    jax.tree.map(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize("name", NAMES)
def test_logits_are_those_of_transformers(name):
    model, params, config = load_pretrained(FIXTURES / name)
    expected = load_file(FIXTURES / name / "expected.safetensors")
    logits = model.apply(params, batch_of(jnp.asarray(expected["tokens"], jnp.int32)))
    assert np.abs(expected["logits"]).max() > 1  # else 1e-5 would say little
    np.testing.assert_allclose(logits, expected["logits"], rtol=0, atol=1e-5)
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(params))
    equal_trees(jax.tree.map(jnp.shape, params), shapes_of(config))


def shapes_of(config):
    return jax.tree.map(jnp.shape, jax.eval_shape(transformer(config).init, jax.random.key(0)))


@pytest.mark.parametrize("name", NAMES)
def test_what_was_read_is_written_to_the_bit(name, tmp_path):
    _, params, config = load_pretrained(FIXTURES / name)
    folder = tmp_path / "a" / "new"
    save_pretrained(folder, config, params)
    _, again, config_again = load_pretrained(folder)
    assert function_of(config_again) == function_of(config)
    equal_trees(again, params)
    if name not in CHANGED:
        ours, theirs = (load_file(f / "model.safetensors") for f in (folder, FIXTURES / name))
        assert ours.keys() == theirs.keys()
        modes = {path.stat().st_mode for path in folder.iterdir()}
        assert len(modes) == 1  # the mode of any new file, not one for the owner alone
        equal_trees(ours, theirs)


@pytest.mark.parametrize("name", sorted(TINY.keys() - {"budget_bert"}))
def test_models_of_ours_are_written_and_read(name, tmp_path):
    config = dataclasses.replace(TINY[name], attention_dropout=0.2, rotary_fraction=0.5)
    config = dataclasses.replace(config, rotary_fraction=1.0) if name == "llama" else config
    params = random_params(config)
    architecture = save_pretrained(tmp_path / name, config, params)
    fields = json.loads((tmp_path / name / "config.json").read_text())
    assert fields["architectures"] == [architecture]
    assert name.startswith(fields["model_type"])
    model, again, found = load_pretrained(tmp_path / name)
    equal_trees(again, params)
    batch = batch_of(np.arange(14).reshape(2, 7) % 11)
    np.testing.assert_array_equal(
        model.apply(again, batch), transformer(config).apply(params, batch)
    )
    assert found.attention_dropout == 0.2


@pytest.mark.parametrize(
    ("preset", "changes", "said"),
    [
        ("budget_bert", {}, "to be bert, norm_placement='pre' must be 'post', final_norm=True"),
        ("gpt_neox", {"attention_out_bias": False}, "attention_bias=True must be False$"),
        ("llama", {"rotary_fraction": 0.5}, "to be llama, rotary_fraction=0.5 must be 1.0$"),
    ],
)
def test_a_model_of_no_family_is_one_line_with_the_closest(preset, changes, said, tmp_path):
    config = dataclasses.replace(TINY[preset], **changes)
    with pytest.raises(PretrainedError, match=f"^the model has no Hugging Face form; .*{said}"):
        save_pretrained(tmp_path / "new", config, random_params(config))
    assert not (tmp_path / "new").exists()


def test_no_file_is_written_over(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(PretrainedError, match="has files already; name a new folder"):
        save_pretrained(tmp_path, TINY["gpt2"], random_params(TINY["gpt2"]))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_the_presets_are_the_defaults_of_the_families():
    """The sizes of gpt2, opt-125m and bert-base-uncased are those that an empty config.json has."""
    for name in ("gpt2", "opt", "bert"):
        found = config_of(FAMILIES[name], {})
        changes = {"init": "gpt2" if name == "gpt2" else "normal", "mlp_width": found.mlp_width}
        assert dataclasses.replace(PRESETS[name], **changes) == found


# ---- files of other versions ------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path):
    """A function that copies a fixture and returns the folder."""
    return lambda name: pathlib.Path(shutil.copytree(FIXTURES / name, tmp_path / name))


def rewrite(folder, change):
    """Replace the tensors of model.safetensors by what ``change`` makes of them."""
    tensors = load_file(folder / "model.safetensors")
    save_file(change(tensors), folder / "model.safetensors")


def set_fields(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def with_buffers(tensors):
    own = {f"transformer.h.{i}.attn.bias": np.ones((1, 1, 10, 10), np.uint8) for i in range(2)}
    return tensors | own | {"transformer.h.1.attn.masked_bias": np.full((), -1e4, np.float32)}


OLDER = {
    "masks": ("gpt2", with_buffers),
    "tied head kept": ("gpt2", lambda t: t | {"lm_head.weight": t["transformer.wte.weight"]}),
    "no prefix": ("opt", lambda t: {k.removeprefix("model."): v for k, v in t.items()}),
    "gamma": (
        "bert",
        lambda t: {
            k.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): v
            for k, v in t.items()
        },
    ),
    "position ids": (
        "bert",
        lambda t: t | {"bert.embeddings.position_ids": np.arange(10, dtype=np.int64)[None]},
    ),
    "inv_freq": (
        "gpt_neox",
        lambda t: t | {"gpt_neox.layers.0.attention.rotary_emb.inv_freq": np.ones(1, np.float32)},
    ),
}


@pytest.mark.parametrize("case", OLDER)
def test_files_of_other_versions_are_read(case, copy):
    name, change = OLDER[case]
    folder = copy(name)
    rewrite(folder, change)
    old, new = (f / "model.safetensors" for f in (folder, FIXTURES / name))
    assert old.read_bytes() != new.read_bytes()
    equal_trees(load_pretrained(folder)[1], load_pretrained(FIXTURES / name)[1])


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("gpt_neox_serial", {"rotary_pct": 1.0, "rotary_emb_base": 500}),
        ("gpt_neox_serial", {"partial_rotary_factor": 1, "rope_theta": 500.0}),
        ("llama_wide_heads", {"rope_theta": 100_000, "rope_scaling": {"type": "default"}}),
        ("gpt2", {"num_attention_heads": 3, "hidden_size": 12, "is_causal": True}),
        ("gpt2", {"n_embd": None, "hidden_size": 12}),
    ],
)
def test_options_of_other_versions_are_read(name, fields, copy):
    folder = copy(name)
    set_fields(folder, rope_parameters=None, **fields)
    assert load_pretrained(folder)[2] == load_pretrained(FIXTURES / name)[2]


# ---- what is refused --------------------------------------------------------------------------


def cut(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])


def drop(name):
    return lambda folder: rewrite(folder, lambda t: {k: v for k, v in t.items() if k != name})


def put(name, value):
    return lambda folder: rewrite(folder, lambda t: t | {name: value})


LN, TABLE = "transformer.h.1.ln_1.weight", "transformer.wte.weight"
DAMAGE = {
    "no folder": (shutil.rmtree, r"gpt2: no such folder; name a folder, a "),
    "no tensors": (
        lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"),
        r"gpt2: must have model\.safetensors or model\.safetensors\.index\.json; a pickle, such as",
    ),
    "truncated": (cut, r"model\.safetensors: no whole safetensors file"),
    "missing": (drop(LN), rf"gpt2: has no tensor '{LN}'$"),
    "unexpected": (
        put("transformer.h.2.ln_1.weight", np.ones(12, np.float32)),
        r"gpt2: the model has no tensor 'transformer\.h\.2\.ln_1\.weight'$",
    ),
    "misshapen": (
        put(LN, np.ones(13, np.float32)),
        rf"gpt2: tensor '{LN}': shape \[13\], must be \[12\]$",
    ),
    "another head": (
        put("lm_head.weight", np.ones((13, 12), np.float32)),
        rf"tensor 'lm_head\.weight': must equal '{TABLE}', to which config\.json ties it$",
    ),
    "no config": (lambda f: (f / "config.json").unlink(), r"config\.json: No such file"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_folder_that_cannot_be_read_is_one_line(case, copy):
    damage, said = DAMAGE[case]
    folder = copy("gpt2")
    damage(folder)
    with pytest.raises(PretrainedError, match=said) as error:
        load_pretrained(folder)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(folder))


UNSUPPORTED = [
    ("gpt2", {"model_type": "mamba"}, "model_type='mamba': must be one of gpt2, gpt_neox, opt, "),
    ("gpt2", {"n_head": 5}, "n_head=5: must be a divisor of width=12"),
    ("gpt2", {"quantization_config": {"bits": 4}}, "quantization_config=.*: must be None$"),
    ("bert", {"position_embedding_type": "relative_key"}, "_type='relative_key': must be"),
    ("llama", {"rope_parameters": {"rope_type": "llama3"}}, "rope_type='llama3': must be"),
    ("llama", {"rope_scaling": {"type": "linear"}, "rope_parameters": None}, "rope_type='linear'"),
    ("llama", {"rope_scaling": {"factor": 8.0}}, "rope_scaling={'factor': 8.0}: must be"),
    ("qwen3", {"rope_parameters": {"full_attention": {"rope_theta": 5}}}, "rope_parameters={'full"),
    ("gpt_neox", {"rotary_pct": 0.4, "rope_parameters": None}, "rotary_pct=0.4: must be such"),
    ("gpt_neox", {"rotary_pct": 0.5}, "partial_rotary_factor=0.25: must be 0.5, as rotary_pct$"),
]


@pytest.mark.parametrize(("name", "fields", "said"), UNSUPPORTED)
def test_an_unsupported_option_is_one_line(name, fields, said, copy):
    folder = copy(name)
    set_fields(folder, **fields)
    with pytest.raises(PretrainedError, match=rf"config\.json: .*{said}"):
        load_pretrained(folder)
