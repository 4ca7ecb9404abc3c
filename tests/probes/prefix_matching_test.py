"""Attention to the successor of the last occurrence, of heads written by hand."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.models import LookupTableConfig, lookup_table, transformer
from el_jax.probes import prefix_matching
from el_jax.tasks import CausalWords, MaskedWords
from el_jax.worlds import choose_world
from tests.models.tiny_models import TINY

WORDS = {"vocab_size": 8, "length": 9, "least_period": 3, "most_period": 4}
TASK = CausalWords(world=choose_world("periodic", WORDS))
NO_PARAMS = {"none": np.zeros((2, 1))}  # of two runs


def heads(params, batch):
    """Uniform attention in one layer; in the next a head of each kind, [2, B, 2, P, T]."""
    tokens = batch.tokens
    places = jnp.arange(tokens.shape[1])
    past = places[None, :] <= places[:, None]
    uniform = jnp.broadcast_to(past / past.sum(1, keepdims=True), (len(tokens), *past.shape))
    last = jnp.roll(tokens, 1, axis=1)  # the token before each key
    same = (last[:, None, :] == tokens[:, :, None]) & (past & (places > 0)[None, :])[None]
    induction = same / jnp.maximum(same.sum(-1, keepdims=True), 1)
    layers = [[uniform, uniform], [uniform, induction]]
    stacked = jnp.stack([jnp.stack(layer, axis=1) for layer in layers])
    return jnp.take_along_axis(stacked, batch.supervised[None, :, None, :, None], axis=3)


def test_an_induction_head_has_all_of_it_and_a_uniform_one_its_share():
    model = lookup_table(LookupTableConfig(vocab_size=TASK.vocab_size))._replace(attention=heads)
    found = prefix_matching(TASK, model).of_params(NO_PARAMS)
    np.testing.assert_allclose(found["prefix_matching"], [1, 1], rtol=1e-6)
    # the second halves of 4 words: words 4, 5, 6 at places 5, 6, 7 see 6, 7, 8 tokens
    share = np.mean([1 / 6, 1 / 7, 1 / 8])
    np.testing.assert_allclose(found["prefix_matching_mean"], (1 + 3 * share) / 4, rtol=1e-6)


MODEL = transformer(TINY["gpt_neox"])


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        (MaskedWords(), MODEL, "needs the task causal, not MaskedWords"),
        (TASK, MODEL._replace(attention=None), "needs a model with attention"),
        (
            CausalWords(world=choose_world("mess3", {"length": 10})),
            MODEL,
            "needs sentences of 4 to 7 words (twice the vocabulary of 3), not 10",
        ),
    ],
)
def test_what_has_no_induction_is_refused(task, model, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        prefix_matching(task, model)
