import jax
import jax.numpy as jnp
import numpy as np

from el_jax.losses import cross_entropy, token_stats
from el_jax.training.objectives import Objective
from el_jax.types import Batch, ModelFns

LOGITS = jnp.array(
    [
        [[2.0, 0.0, -1.0], [0.0, 1.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.5]],
        [[0.0, 0.0, 4.0], [1.0, 2.0, 0.0], [9.0, 0.0, 0.0], [9.0, 0.0, 0.0]],
    ]
)
LABELS = jnp.array([[0, 1, 0, 0], [2, 0, 1, 1]])  # right, right | right, wrong || right, wrong
MASK = jnp.array([[True] * 4, [True, True, False, False]])
GROUPS = jnp.array([[0, 0, 1, 1], [0, 0, 1, 1]])


def ce(logits, labels, _):
    return cross_entropy(token_stats(logits, labels))


def objective():
    model = ModelFns(init=lambda key: {}, apply=lambda params, batch, key=None: params["logits"])
    return Objective(model, ce, num_groups=2, answer_length=2)


def batch():
    positions = jnp.zeros((2, 4), jnp.int32)
    return Batch(positions, positions, LABELS, MASK, GROUPS)


def by_hand():
    p = np.exp(LOGITS) / np.exp(LOGITS).sum(-1, keepdims=True)
    onehot = np.eye(3)[LABELS]
    loss = -np.log((p * onehot).sum(-1))
    return p, onehot, loss


def test_loss_is_the_mean_over_supervised_tokens():
    _, _, loss = by_hand()
    value, logits = objective().loss({"logits": LOGITS}, batch(), {}, None)
    np.testing.assert_allclose(value, loss[np.asarray(MASK)].mean(), rtol=1e-6)
    np.testing.assert_array_equal(logits, LOGITS)


def test_every_quantity_by_group_is_that_of_its_definition():
    p, onehot, loss = by_hand()
    metrics = objective().measure(LOGITS, batch(), {})
    mask, groups = np.asarray(MASK), np.asarray(GROUPS)
    expected = {
        "loss": loss,
        "ce": loss,
        "gradient": np.square(p - onehot).sum(-1),
        "accuracy": (p.argmax(-1) == LABELS).astype(float),
        "margin": (LOGITS * onehot).sum(-1) - np.where(onehot, -np.inf, LOGITS).max(-1),
    }
    for name, values in expected.items():
        for group in (0, 1):
            chosen = values[mask & (groups == group)]
            assert metrics[name].num[group] == len(chosen)
            np.testing.assert_allclose(metrics[name].mean[group], chosen.mean(), rtol=1e-5)
            np.testing.assert_allclose(
                metrics[name].m2[group], np.square(chosen - chosen.mean()).sum(), atol=1e-5
            )


def test_exact_match_needs_every_token_of_an_answer():
    match = objective().measure(LOGITS, batch(), {})["exact_match"]
    # group 0: answers right-right and right-wrong; group 1: right-wrong, and one that is masked
    np.testing.assert_array_equal(match.num, [2, 1])
    np.testing.assert_allclose(match.mean, [0.5, 0.0])


def test_masked_logits_change_nothing():
    poisoned = LOGITS.at[1, 2:].set(jnp.nan)
    ours, clean = (objective().measure(x, batch(), {}) for x in (poisoned, LOGITS))
    for name in clean:
        jax.tree.map(np.testing.assert_array_equal, ours[name], clean[name])
