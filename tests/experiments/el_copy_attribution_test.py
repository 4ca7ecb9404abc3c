"""Adam's second moment with a memory that changes, and the effects read from a factorial."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from el_jax.training.sinks import History
from experiments.el_copy_attribution.memory import adamw_switched
from experiments.el_copy_attribution.run import course

GRADIENTS = np.random.default_rng(0).normal(size=(12, 3, 2))
NUMBERS = {"b1": 0.8, "epsilon": 1e-3, "weight_decay": 0.3}


def updated(optimizer):
    """A matrix after an update for each gradient."""
    params = {"kernel": jnp.ones((3, 2))}
    state = optimizer.init(params)
    for gradient in GRADIENTS:
        change, state = optimizer.update({"kernel": jnp.float32(gradient)}, state, params)
        params = optax.apply_updates(params, change)
    return params["kernel"]


@pytest.mark.parametrize("switch_at", [0, 5, 12])
def test_a_memory_that_does_not_change_is_adamw(switch_at):
    ours = adamw_switched(lambda _: 0.1, b2=0.9, b2_later=0.9, switch_at=switch_at, **NUMBERS)
    theirs = optax.adamw(0.1, b1=0.8, b2=0.9, eps=1e-3, weight_decay=0.3)
    np.testing.assert_allclose(updated(ours), updated(theirs), rtol=1e-5)


def test_the_second_moment_is_a_mean_with_the_memory_of_each_update():
    before, after, switch_at = 0.99, 0.5, 7
    w, m, v, weights = np.ones((3, 2)), 0.0, 0.0, np.zeros(0)
    for t, g in enumerate(GRADIENTS):
        b2 = before if t < switch_at else after
        m = 0.8 * m + 0.2 * g
        weights = np.append(weights * b2, 1 - b2)
        v = np.tensordot(weights, GRADIENTS[: t + 1] ** 2, 1) / weights.sum()
        w = w - 0.1 * (m / (1 - 0.8 ** (t + 1)) / (np.sqrt(v) + 1e-3) + 0.3 * w)
    ours = adamw_switched(lambda _: 0.1, b2=before, b2_later=after, switch_at=switch_at, **NUMBERS)
    np.testing.assert_allclose(updated(ours), w, rtol=1e-5)


def test_the_course_tells_the_deepest_fall_and_the_steps_at_the_peak_rate():
    hard = np.array([[0.2, 0.3], [0.995, 0.5], [0.4, 0.6], [1.0, 0.7], [1.0, 0.8]])
    update = np.array([[9.0, 9.0], [9.0, 9.0], [2.0, 4.0], [6.0, 8.0], [9.0, 9.0]])
    history = History()
    for i in range(5):
        row = {"batch_hard_accuracy": hard[i], "batch_update_norm": update[i]}
        row |= {"train_hard_accuracy": hard[i], "test_hard_accuracy": hard[i]}
        history.write(20 * (i + 1), row | {"batch_grad_norm": np.array([2.0, 2.0])})
    found = course(history)
    np.testing.assert_array_equal(found["lowest_once_fitted"], [0.4, np.nan])
    np.testing.assert_array_equal(found["update_over_gradient"], [2.0, 3.0])
