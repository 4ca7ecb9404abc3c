"""The linear perception task: data, exact accuracy, losses at two classes."""

import jax
import jax.numpy as jnp
import numpy as np

from experiments.el_margins import run


def test_the_feature_is_always_right_and_the_shortcut_mostly():
    inputs = np.asarray(run.signed_inputs(jax.random.key(0), 4000, 8))
    assert set(inputs[:, 0]) == {-1.0, 1.0}
    assert abs((inputs[:, 0] > 0).mean() - 0.9) < 4 * np.sqrt(0.09 / 4000)
    assert (inputs[:, 1] == 1).all()
    assert abs(inputs[:, 2:].std() - 1) < 0.02


def test_losses_are_margin_controls_at_two_classes():
    margins = jnp.array([[[-1.0], [0.5], [2.0], [3.0]]])  # one example, one model per loss
    ce, e1, e2, e3 = np.array([-1.0, 0.5, 2.0, 3.0])
    expected = np.log1p(np.exp(-ce))
    expected += np.log1p(np.exp(-e1)) + 0.5 * np.log1p(e1**2)
    expected += np.log1p(np.exp(-e2)) + 0.1 * e2**2
    expected += 2 * (e3 / 2 - 1) ** 2
    padded = jnp.broadcast_to(margins, (1, 4, len(run.SIZES)))
    np.testing.assert_allclose(run.total_loss(padded), len(run.SIZES) * expected, rtol=1e-6)


def test_accuracy_is_that_of_many_unseen_examples():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(6, len(run.LOSSES), len(run.SIZES))) * 0.3
    weights[1] += 1.0
    inputs = np.array(run.signed_inputs(jax.random.key(1), 40_000, 6), np.float32)
    shares = []
    for shortcut in (-1, 1):
        inputs[:, 0] = shortcut
        found = run.margins_of(jnp.asarray(weights, jnp.float32), jnp.asarray(inputs))
        shares.append((np.asarray(found) > 0).mean(0))
    np.testing.assert_allclose(run.unseen_accuracy(weights), np.minimum(*shares), atol=0.011)
