"""TransformerLens sees in an exported folder what ``look`` sees."""

import dataclasses
import json

import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.models import transformer
from el_jax.models.look import look
from el_jax.models.pretrained import save_pretrained
from el_jax.tasks import PaddedCopy
from el_jax.tokenizers import word_tokenizer, write_tokenizer
from el_jax.types import Batch
from tests.models.tiny_models import TINY, random_params
from tests.peers.environment import run_peer

pytestmark = pytest.mark.peers
TEXT = "<BOS> g h h <CLS> g <EOS>"


@pytest.mark.parametrize("family", ["gpt_neox", "gpt2", "opt", "llama", "qwen3"])
def test_it_boots_an_export_and_sees_its_inside(family, tmp_path):
    names = PaddedCopy().token_names
    config = TINY["llama" if family == "qwen3" else family]
    config = dataclasses.replace(config, vocab_size=len(names), qk_norm=family == "qwen3")
    model, params = transformer(config), random_params(config)
    save_pretrained(tmp_path, config, params)
    write_tokenizer(tmp_path, word_tokenizer(names), "<EOS>")
    seen = json.loads(
        run_peer("tests.peers.transformer_lens_model", tmp_path, TEXT, needs="transformer-lens>=4")
    )

    tokens = jnp.array([[names.index(word) for word in TEXT.split()]])
    assert seen["ids"] == tokens[0].tolist()
    everywhere = jnp.arange(tokens.size)[None]
    trace = look(model, params, Batch(tokens, everywhere, tokens, everywhere >= 0, everywhere))
    np.testing.assert_allclose(seen["logits"], trace.logits[0], atol=1e-5)
    np.testing.assert_allclose(seen["resid"], trace.residual[1:, 0], atol=1e-5)
    np.testing.assert_allclose(seen["attention"], trace.weights[:, 0], atol=1e-5)
