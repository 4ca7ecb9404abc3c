"""Last layers fitted on features that are made by hand."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.tasks import PaddedCopy
from el_jax.types import ModelFns, Readout
from experiments.el_last_layer import probe
from experiments.el_last_layer.run import DECODERS

TASK = PaddedCopy(alphabet_size=6, padding_length=5, num_train=160)
V, L = TASK.vocab_size, TASK.alphabet_size


def by_hand(of_letter, of_padding):
    """A model with the letter and the first padding letter as features, weighted by its head."""

    def readout(params, batch, key=None):
        del key
        letter, padding = (jax.nn.one_hot(batch.tokens[:, place], L) for place in (1, 2))
        hidden = jnp.concatenate([letter, padding], -1)[:, None]
        undone = jnp.roll(jnp.eye(L, V), TASK.shift, axis=0)
        head = jnp.concatenate([of_letter * jnp.eye(L, V), of_padding * undone]) * params["scale"]
        return Readout(hidden, head, None)

    return ModelFns(lambda key: {"scale": jnp.ones(())}, None, readout=readout, head_width=2 * L)


def numbers(model, monkeypatch, task=TASK):
    monkeypatch.setattr(probe, "FRESH", 600)
    monkeypatch.setattr(probe, "TESTED", 600)
    found = probe.last_layer(task, model).of_params({"scale": jnp.array([1.0, 2.0])})
    assert all(np.shape(values) == (2,) for values in found.values())
    for values in found.values():  # the scale of a last layer changes no answer and no share
        np.testing.assert_allclose(values[0], values[1])
    return {name: float(values[0]) for name, values in found.items()}


def test_a_last_layer_by_the_shortcut_is_told_from_features_without_the_letter(monkeypatch):
    found = numbers(by_hand(0.0, 1.0), monkeypatch)
    assert found["own_copies"] == 0
    assert found["own_hard_accuracy"] == pytest.approx(1 / L, abs=0.06)
    assert found["fresh_copies"] == found["fresh_hard_accuracy"] == 1
    assert np.isnan([found["max_margin_copies"], found["margin_share"]]).all()


def test_only_the_fresh_layer_sees_other_strings_than_those_of_training(monkeypatch):
    easy = dataclasses.replace(TASK, easy_fraction=1.0)
    found = numbers(by_hand(0.0, 1.0), monkeypatch, easy)
    assert found["fresh_copies"] == 1
    assert found["max_margin_copies"] < 1  # letter and padding have equal weights
    assert found["margin_share"] == pytest.approx(0.5**0.5, rel=1e-3)


def test_decoders_of_separable_features_all_copy(monkeypatch):
    found = numbers(by_hand(1.0, 0.3), monkeypatch)
    for decoder in DECODERS:
        assert found[f"{decoder}_copies"] == found[f"{decoder}_hard_accuracy"] == 1
    assert 0.3 < found["margin_share"] < 1


def test_the_max_margin_has_the_largest_least_margin():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 30)
    hidden = rng.standard_normal((30, 40))
    best = probe.least_margin(probe.max_margin_kernel(hidden, labels, 5), hidden, labels)
    squares = probe.least_squares(hidden, labels, 5)
    assert 0 < probe.least_margin(squares, hidden, labels) < best
    logits = hidden @ squares
    np.testing.assert_allclose(logits, np.eye(5)[labels] - 0.2, atol=1e-10)  # 40 > 30 dimensions
    shifted = squares + rng.standard_normal((40, 1))  # the same shift of all tokens: equal margins
    assert probe.least_margin(shifted, hidden, labels) == pytest.approx(
        probe.least_margin(squares, hidden, labels)
    )


def test_the_share_within_letters_is_that_of_an_analysis_of_variance():
    labels = np.array([0, 0, 1, 1])
    hidden = np.array([[0.0], [2.0], [4.0], [6.0]])  # 1 from its letter's mean, 1 or 3 from all's
    assert probe.within_share(hidden, labels) == pytest.approx(4 / 20)
    assert probe.within_share(np.eye(3)[[0, 0, 2, 2]], labels) == 0
