"""Divergences by the entropy of the next word, compared with those of a known table."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.models import LookupTableConfig, lookup_table
from el_jax.probes import river_hill, true_conditional
from el_jax.tasks import CausalWords, MaskedWords
from el_jax.worlds import choose_world

RIVER = CausalWords(world=choose_world("bigram_river", {"vocab_size": 8, "length": 6}))
MODEL = lookup_table(LookupTableConfig(vocab_size=RIVER.vocab_size))


def test_divergences_are_those_of_the_rows():
    """A certain successor leads by 5 nats; after the other words all words are alike."""
    table = RIVER.world.make().transition
    logits = np.zeros((RIVER.vocab_size + 1, RIVER.vocab_size), np.float32)
    logits[:4, :8] = 5 * table[:4]
    logits[:4, 8:] = -np.inf
    logits[4:8, 8:] = -np.inf
    found = river_hill(RIVER, MODEL).of_params({"logits": jnp.asarray(logits)[None]})
    np.testing.assert_allclose(found["kl_river"], [np.log1p(7 * np.exp(-5))], rtol=1e-4)
    # after the others the truth has four words and the model eight; for the first word, which
    # belongs to the hill, the truth has eight and the model ten
    first, later = np.log(10 / 8), np.log(2)
    tokens = np.asarray(RIVER.test_set(256).tokens)
    weights = len(tokens), (tokens[:, :-1] >= 4).sum()
    expected = np.average([first, later], weights=weights)
    np.testing.assert_allclose(found["kl_hill"], [expected], rtol=1e-4)
    np.testing.assert_array_equal(found["river_accuracy"], [1])
    logits[:4, :8] *= -1
    wrong = river_hill(RIVER, MODEL).of_params({"logits": jnp.asarray(logits)[None]})
    np.testing.assert_array_equal(wrong["river_accuracy"], [0])


def test_both_together_are_the_divergence_from_the_truth():
    params = {"logits": jax.random.normal(jax.random.key(0), (1, 11, 10))}
    found = river_hill(RIVER, MODEL, num=2048).of_params(params)
    whole = true_conditional(RIVER, MODEL).of_params(params)
    tokens = np.asarray(RIVER.test_set(2048).tokens)
    share = (tokens[:, :-1] < 4).sum() / tokens.size
    together = share * found["kl_river"] + (1 - share) * found["kl_hill"]
    assert abs(together[0] - whole["kl"][0]) < 4 * whole["kl_sem"][0]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (MaskedWords(world=choose_world("hmm", {})), "needs the task causal"),
        (CausalWords(world=choose_world("mess3", {})), "needs a world with words nearly certain"),
    ],
)
def test_a_world_without_rivers_is_refused(task, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        river_hill(task, MODEL)


def test_the_last_bracket_is_of_the_river_and_several_lengths_are_refused(tmp_path):
    of_brackets = CausalWords(world=choose_world("dyck", {"length": 4}))
    model = lookup_table(LookupTableConfig(vocab_size=of_brackets.vocab_size))
    found = river_hill(of_brackets, model).of_params({"logits": np.zeros((1, 5, 4), np.float32)})
    np.testing.assert_allclose(found["kl_river"], [np.log(4)], rtol=1e-5)  # one of four tokens
    path = tmp_path / "grammar.txt"
    path.write_text("S A A 0.5\nS a 0.5\nA b 1.0\n", encoding="utf-8")
    words = CausalWords(world=choose_world("grammar_file", {"path": str(path), "length": 2}))
    with pytest.raises(ValueError, match=r"^needs sentences of one length, not of 2"):
        river_hill(words, MODEL)
