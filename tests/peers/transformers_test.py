"""Folders compared with transformers itself:  bash tests/run.sh --peers"""

import json
import shutil

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file

from el_jax.models.pretrained import FAMILIES, load_pretrained, save_pretrained
from el_jax.tasks import PaddedCopy
from el_jax.tokenizers import SEPARATOR, train_tokenizer, word_tokenizer, write_tokenizer
from el_jax.types import Batch
from tests.peers.environment import run_peer
from tests.tokenizers.texts import sample_text

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders that transformers has just written, with other parameters than the committed ones."""
    folder = tmp_path_factory.mktemp("written")
    run_peer("tests.peers.transformers_models", "write", folder, 1000)
    return sorted(folder.iterdir())


def logits_of(model, params, tokens):
    everywhere = jnp.broadcast_to(jnp.arange(tokens.shape[1]), tokens.shape)
    batch = Batch(
        jnp.asarray(tokens, jnp.int32), everywhere, everywhere, everywhere >= 0, everywhere
    )
    return model.apply(params, batch)


def test_what_transformers_writes_is_read_with_its_logits(folders):
    assert len(folders) >= 14
    for folder in folders:
        model, params, _ = load_pretrained(folder)
        expected = load_file(folder / "expected.safetensors")
        logits = logits_of(model, params, expected["tokens"])
        np.testing.assert_allclose(logits, expected["logits"], atol=1e-5, err_msg=folder.name)


def test_what_is_written_loads_in_transformers_with_the_same_logits(folders, tmp_path):
    expected = {}
    for folder in folders:
        model, params, config = load_pretrained(folder)
        save_pretrained(tmp_path / folder.name, config, params)
        kept = shutil.copy(folder / "expected.safetensors", tmp_path / folder.name)
        expected[folder.name] = logits_of(model, params, load_file(kept)["tokens"])
    found = json.loads(run_peer("tests.peers.transformers_models", "read", tmp_path))
    assert found.keys() == expected.keys()
    for name, read in found.items():
        assert read["refused"] == {}, name  # no missing, unexpected or misshapen key
        np.testing.assert_allclose(read["logits"], expected[name], atol=1e-5, err_msg=name)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tokenizer_that_is_written_is_read_by_transformers(family, tmp_path):
    """The tokenizer may be that of any family of models."""
    tokenizer = train_tokenizer(sample_text().splitlines(keepends=True), 1_000)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": family}))
    write_tokenizer(tmp_path, tokenizer, SEPARATOR)
    text = f"{SEPARATOR} In the beginning, 12 words.\n  And more"
    found = json.loads(run_peer("tests.peers.transformers_tokens", tmp_path, text))
    assert found == {"ids": tokenizer.encode(text).ids, "text": text, "end": SEPARATOR}


def test_the_words_of_a_task_are_read_by_transformers(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt_neox"}))
    write_tokenizer(tmp_path, word_tokenizer(PaddedCopy().token_names), "<EOS>")
    text = "<BOS> g h h <CLS> g <EOS>"
    found = json.loads(run_peer("tests.peers.transformers_tokens", tmp_path, text))
    assert found == {"ids": [26, 6, 7, 7, 27, 6, 28], "text": text, "end": "<EOS>"}
