"""Token metrics of a batch made by hand, and the loss that is trained."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.losses import cross_entropy, e1, e3
from el_jax.tasks.copy import PaddedCopy
from el_jax.training.objectives.heads import LogitHead
from el_jax.training.objectives.next_token import NextToken
from el_jax.types import Batch, ModelFns

# two windows of two answers of two tokens; V = 3
LABELS = np.array([[0, 1, 2, 0], [1, 1, 0, 2]])
GROUPS = np.array([[0, 0, 1, 1], [1, 1, 0, 0]])
MASK = np.array([[1, 1, 1, 1], [1, 0, 0, 0]], bool)  # one half and one whole answer are filling
RIGHT = np.array([[1, 1, 1, 0], [1, 0, 1, 1]], bool)
LOGITS = np.random.default_rng(0).normal(size=(2, 4, 3)) - 2
np.put_along_axis(LOGITS, LABELS[..., None], np.where(RIGHT, 3.0, -7.0)[..., None], -1)

BATCH = Batch(
    tokens=jnp.zeros((2, 5), jnp.int32),
    supervised=jnp.tile(jnp.arange(4), (2, 1)),
    labels=jnp.asarray(LABELS),
    mask=jnp.asarray(MASK),
    groups=jnp.asarray(GROUPS),
)


def by_cross_entropy(stats, numbers, mask):
    return cross_entropy(stats)


def by_e1(stats, numbers, mask):
    return e1(stats, lam=numbers["lam"])


def by_e3(stats, numbers, mask):
    return e3(stats, b=numbers["b"])


def objective(token_loss=by_cross_entropy):
    def apply(params, batch, key=None):  # the parameters are the logits
        return params

    task = PaddedCopy(copy_length=2)  # two groups, answers of two tokens
    return NextToken(task, LogitHead(ModelFns(dict, apply), token_loss))


def measured(token_loss=by_cross_entropy, batch=BATCH, logits=LOGITS, **numbers):
    logits = jnp.asarray(logits, jnp.float32)
    measure = jax.jit(objective(token_loss).measure)
    return measure(logits, batch, {k: jnp.float32(v) for k, v in numbers.items()})


def probabilities():
    weights = np.exp(LOGITS)
    return weights / weights.sum(-1, keepdims=True)


def assert_means(moments, values, mask=MASK, groups=GROUPS):
    """Assert that each group has the moments of its unmasked values, token by token."""
    for group in range(2):
        chosen = values[mask & (groups == group)]
        assert moments.num[group] == len(chosen)
        np.testing.assert_allclose(moments.mean[group], chosen.mean(), rtol=1e-5)
        np.testing.assert_allclose(
            moments.m2[group], chosen.var() * len(chosen), rtol=1e-4, atol=1e-9
        )


def test_token_metrics_are_their_definitions():
    p = probabilities()
    onehot = np.eye(3)[LABELS]
    wrong = np.where(onehot, -np.inf, LOGITS).max(-1)
    ce = -np.log((p * onehot).sum(-1))
    found = measured()
    assert_means(found["loss"], ce)
    assert_means(found["ce"], ce)
    assert_means(found["margin"], (LOGITS * onehot).sum(-1) - wrong)
    assert_means(found["gradient"], np.square(p - onehot).sum(-1))
    assert_means(found["accuracy"], RIGHT.astype(float))


def test_loss_and_gradient_are_the_trained_losss_and_ce_stays_ce():
    onehot = np.eye(3)[LABELS]
    target = 2.0 * (2 * onehot - 1)
    found = measured(by_e3, b=2.0)
    assert_means(found["loss"], np.square(LOGITS - target).sum(-1))
    assert_means(found["gradient"], np.square(2 * (LOGITS - target)).sum(-1))
    assert_means(found["ce"], -np.log((probabilities() * onehot).sum(-1)))


def test_a_tie_is_not_right():
    tied = np.zeros((2, 4, 3))
    assert measured(logits=tied)["accuracy"].mean.tolist() == [0, 0]


def test_an_answer_is_right_if_all_of_its_tokens_are():
    found = measured()["exact_match"]
    # the answers asked for: (0,1) easy right; (2,0) hard, half right; (1,-) hard right
    assert found.num.tolist() == [1, 2]
    assert found.mean.tolist() == [1, 0.5]


def test_filling_within_an_answer_does_not_count_whichever_slot_it_is():
    mask = np.array([[0, 1, 1, 0], [0, 0, 1, 1]], bool)  # keeps the right half of one answer
    found = measured(batch=BATCH._replace(mask=jnp.asarray(mask)))["exact_match"]
    assert found.num.tolist() == [2, 1]
    assert found.mean.tolist() == [1, 1]


@pytest.mark.parametrize("value", [np.nan, 1e30])
def test_masked_slots_are_ignored(value):
    changed = np.where(MASK[..., None], LOGITS, value)
    plain, other = measured(by_e1, lam=1.0), measured(by_e1, logits=changed, lam=1.0)
    jax.tree.map(np.testing.assert_array_equal, plain, other)


def test_the_loss_is_the_mean_over_unmasked_tokens():
    logits = jnp.asarray(LOGITS, jnp.float32)
    loss, (metrics, _) = objective().loss(logits, BATCH, (), {}, None)
    ce = -np.log((probabilities() * np.eye(3)[LABELS]).sum(-1))
    np.testing.assert_allclose(loss, ce[MASK].mean(), rtol=1e-6)
    rounding = 0 if jax.__version_info__ < (0, 11) else 1e-6  # later versions fuse them otherwise
    jax.tree.map(partial(np.testing.assert_allclose, rtol=rounding), metrics, measured())
    nothing = BATCH._replace(mask=jnp.zeros_like(BATCH.mask))
    assert objective().loss(logits, nothing, (), {}, None)[0] == 0


def test_numbers_of_the_loss_reach_it():
    strong, weak = (measured(by_e1, lam=lam)["loss"].mean for lam in (2.0, 0.0))
    np.testing.assert_allclose(weak, measured()["loss"].mean, rtol=1e-6)
    assert (strong > weak + 0.1).all()
