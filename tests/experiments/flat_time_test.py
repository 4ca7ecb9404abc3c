"""The optimizer of two phases, and changes after saturation on courses by hand."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax

from el_jax.training.sinks import History
from experiments.flat_time import phases, run

RATE = 0.1


def course(optimizer, num_updates=6):
    """Parameters of f(w, b) = |w|² / 2 + |b - 1|² / 2 after each update."""
    params = {"w": jnp.array([[1.0, -2.0]]), "b": jnp.array([3.0])}
    state, seen = optimizer.init(params), []
    for _ in range(num_updates):
        grads = {"w": params["w"], "b": params["b"] - 1}
        updates, state = optimizer.update(grads, state, params)
        params = optax.apply_updates(params, updates)
        seen.append(np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(params)]))
    return np.array(seen)


def two_phases(**numbers):
    defaults = {"saturate": 4, "adamw_after": 0.0, "sgd_after": 0.0}
    return phases.adamw_then(lambda step: RATE, **defaults | numbers)


def test_the_second_phase_is_plain_gradient_descent():
    seen = course(two_phases(sgd_after=0.5))
    for before, after in itertools.pairwise(seen[3:]):
        np.testing.assert_allclose(after, before - RATE * 0.5 * (before - [1, 0, 0]), rtol=1e-5)


def test_or_adamw_with_the_moments_it_had():
    kept = course(two_phases(adamw_after=0.3))

    def broken(step):
        return RATE * jnp.where(step < 4, 1 - step / 4, 0.3)

    mask = {"w": True, "b": False}
    adamw = optax.adamw(broken, b1=0.9, b2=0.98, eps=1e-6, weight_decay=0.01, mask=mask)
    np.testing.assert_allclose(kept, course(adamw), rtol=1e-5)


def test_changes_are_counted_from_saturation_to_the_end():
    history, kl = History(), np.array([[1.0, 0.5], [0.05, 0.08], [0.06, 0.07], [0.055, 0.09]])
    for i, row in enumerate(kl):
        values = {metric: np.array([2.0**i, 3.0**i]) for metric in run.CURVES}
        history.write(100 * (i + 1), values | {"kl": row})
    found = run.numbers(history, saturated=1)
    np.testing.assert_array_equal(found["saturated_step"], [200, 200])
    np.testing.assert_array_equal(found["kl_at_saturation"], [0.05, 0.08])
    np.testing.assert_allclose(found["kl_moved"], [0.005, 0.01])
    np.testing.assert_allclose(found["accuracy_2_since_saturation"], [8 - 2, 27 - 3])
    expected = [np.log(4), np.log(9)]
    np.testing.assert_allclose(found["fisher_trace_since_saturation"], expected)
