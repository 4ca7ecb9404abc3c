"""Ensembles of networks made by hand, whose mechanism and confidence are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.tasks import MaskedWords, PaddedCopy
from el_jax.types import ModelFns
from experiments.el_ensemble.probe import ensemble

TASK = PaddedCopy(alphabet_size=6, padding_length=5, num_train=160)


def apply(params, batch, key=None):
    """Logits of the letter itself and of the letter behind the padding, one weight for each."""
    letter, padding = (batch.tokens[:, place] for place in (1, 2))
    answers = jnp.stack([letter, (padding - TASK.shift) % TASK.alphabet_size], axis=-1)
    logits = jax.nn.one_hot(answers, TASK.vocab_size) * params["weights"][None, :, None]
    return logits.sum(1)[:, None]


MODEL = ModelFns(init=lambda key: {"weights": jnp.ones(2)}, apply=apply)
WEIGHTS = np.array([[1.0, 3.0], [1.0, 2.0], [9.0, 0.0]], np.float32)  # only the last one copies


def test_probabilities_are_averaged_over_the_networks_so_far():
    found = ensemble(TASK, MODEL).of_params({"weights": jnp.asarray(WEIGHTS)})
    np.testing.assert_array_equal(found["ensemble_copies"], [0, 0, 1])
    np.testing.assert_allclose(found["gain"], [-1 / 3, -1 / 3, 2 / 3], rtol=1e-6)
    # a hard string's padding is behind its letter by chance in one of six
    hits = found["ensemble_hard_accuracy"][0]
    assert hits == pytest.approx(1 / 6, abs=0.04)
    letter, other = np.exp(WEIGHTS).T
    rest = TASK.vocab_size - np.array([[2], [1]])
    apart = letter / (letter + other + rest[0])
    alike = letter * other / (letter * other + rest[1])
    means = [np.cumsum(p) / [1, 2, 3] for p in (apart, alike)]
    expected = -(1 - hits) * np.log(means[0]) - hits * np.log(means[1])
    np.testing.assert_allclose(found["ensemble_hard_ce"], expected, rtol=1e-4)


def test_another_task_is_refused():
    with pytest.raises(ValueError, match=r"^needs the copy task, not MaskedWords"):
        ensemble(MaskedWords(), MODEL)
