"""Losses over all tokens of an update: definition, bound, and layout."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax import build
from el_jax.losses import BATCH_LOSSES, mann_whitney, token_stats
from el_jax.process.errors import ConfigError
from el_jax.training.objectives.in_parts import InParts
from tests.training.small_training import small_config

LOGITS = np.random.default_rng(0).normal(0, 2, (2, 3, 5)).astype(np.float32)
LABELS = np.array([[0, 1, 4], [2, 2, 3]])
MASK = np.array([[True, True, False], [True, False, True]])


def losses_of(logits, mask=MASK, tau=1.0):
    stats = token_stats(jnp.asarray(logits), jnp.asarray(LABELS))
    return mann_whitney(stats, jnp.asarray(mask), tau=tau)


def scores():
    """Centred scores of labels and of strongest wrong classes, one a supervised token."""
    pairs = []
    for row, label in zip(LOGITS[MASK], LABELS[MASK], strict=True):
        centred = row.astype(np.float64) - row.mean(dtype=np.float64)
        pairs.append((centred[label], np.delete(centred, label).max()))
    return np.transpose(pairs)


@pytest.mark.parametrize("tau", [0.5, 2.0])
def test_mann_whitney_is_a_mean_over_pairs_of_tokens(tau):
    right, wrong = scores()
    expected = [np.mean([np.log1p(np.exp(-(s - t) / tau)) for t in wrong]) for s in right]
    losses = losses_of(LOGITS, tau=tau)
    np.testing.assert_allclose(losses[MASK], expected, rtol=1e-5)
    assert not losses[~MASK].any()


def test_its_mean_bounds_the_area_over_the_curve():
    right, wrong = scores()
    missed = np.mean(right[:, None] <= wrong)
    assert missed > 0
    assert losses_of(LOGITS)[MASK].mean() >= np.log(2) * missed


@pytest.mark.parametrize("name", BATCH_LOSSES)
def test_unsupervised_tokens_and_shifts_of_a_context_change_nothing(name):
    changed = LOGITS + np.where(MASK, 0, 100)[..., None] * (np.arange(5) == 1)
    shifted = LOGITS + np.arange(6).reshape(2, 3, 1)
    for logits in (changed, shifted):
        np.testing.assert_allclose(losses_of(logits), losses_of(LOGITS), rtol=1e-4)
    slopes = jax.grad(lambda logits: losses_of(logits).sum())(jnp.asarray(LOGITS))
    assert (slopes[MASK] != 0).any(-1).all()
    assert not slopes[~MASK].any()
    assert not losses_of(LOGITS, np.zeros_like(MASK)).any()


def test_its_windows_stay_on_one_device():
    config = small_config("loss=mann_whitney,smoke", seeds=1, shard="data")
    with pytest.raises(ConfigError, match=r"mann_whitney', which needs all windows on one device"):
        build.make_spec(build.parse(config))
    config.train.shard = "auto"
    spec = build.make_spec(build.parse(config))
    assert spec.layout.data == 1
    assert not isinstance(spec.objective, InParts)
