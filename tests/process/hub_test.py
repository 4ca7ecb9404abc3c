import shutil

import jax
import numpy as np
import pytest
from huggingface_hub import constants

from el_jax.models.pretrained import is_pretrained, load_pretrained
from el_jax.process.errors import PretrainedError
from el_jax.process.hub import _snapshot, local_path
from el_jax.tokenizers import load_tokenizer, word_tokenizer, write_tokenizer
from tests.trainings import ROOT

FOLDER = ROOT / "tests" / "models" / "pretrained" / "llama"
WORDS = ("In", "the", "beginning")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def hub_without_network(tmp_path, monkeypatch):
    """The hub's cache with one fetched model, and no network."""
    _snapshot.cache_clear()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    model = tmp_path / "models--org--tiny"
    shutil.copytree(FOLDER, model / "snapshots" / COMMIT)
    write_tokenizer(model / "snapshots" / COMMIT, word_tokenizer(WORDS), None)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(COMMIT)


@pytest.mark.parametrize("name", ["hf:org/tiny", "hf:org/tiny@main", f"hf:org/tiny@{COMMIT}"])
def test_a_model_of_the_hub_is_that_of_its_files(name):
    assert is_pretrained(name)
    found, expected = load_pretrained(name), load_pretrained(FOLDER)
    assert found[2] == expected[2]
    jax.tree.map(np.testing.assert_array_equal, found[1], expected[1])
    assert load_tokenizer(name).encode("the beginning").ids == [1, 2]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf:org/other", "hf:org/other: Cannot find an appropriate cached snapshot"),
        ("hf:a/b/c", "hf:a/b/c: Repo id must be"),
    ],
)
def test_what_cannot_be_fetched_is_one_line(name, message):
    with pytest.raises(PretrainedError, match=message) as raised:
        local_path(name)
    assert "\n" not in str(raised.value)
