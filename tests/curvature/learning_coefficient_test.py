"""The learning coefficient of losses for which it is known."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.curvature import local_learning_coefficient

KEY = jax.random.key(0)
SETTLED = {"num_chains": 16, "num_burn_in": 500, "num_draws": 2_000}


@pytest.mark.parametrize(("n_beta", "localisation"), [(50.0, 1.0), (50.0, 40.0), (5.0, 20.0)])
def test_of_a_quadratic_it_counts_the_directions_that_localisation_does_not_hold(
    n_beta, localisation
):
    h, step = np.array([0.0, 0.0, 0.1, 1.0, 1.0, 4.0]), 5e-3
    precision = n_beta * h + localisation
    # the stationary variance of w <- (1 - ε p / 2) w + √ε z, larger than 1 / p by the step
    variance = 1 / (precision * (1 - step * precision / 4))
    expected = n_beta * (h * variance).sum() / 2

    def loss(params, key):
        w = jnp.concatenate([params["a"], params["b"]])
        return (jnp.asarray(h, jnp.float32) * (w - 1) ** 2).sum() / 2 + jax.random.normal(key)

    at = {"a": jnp.ones(2), "b": jnp.ones(4)}
    found = jax.jit(
        lambda key: local_learning_coefficient(
            loss, at, key, n_beta=n_beta, step_size=step, localisation=localisation, **SETTLED
        )
    )(KEY)
    assert found.values.shape == (16, 2_000)
    assert abs(found.mean - expected) < 4 * found.sem
    assert found.sem < 0.06 * expected


def test_of_a_quartic_it_is_a_quarter():
    """Volume goes as ε^¼ there, whatever the factor; a regular minimum has ½."""

    def found(factor):
        return local_learning_coefficient(
            lambda w, key: factor * w**4,
            *(jnp.zeros(()), KEY),
            **{"n_beta": 200.0, "step_size": 2e-3, "localisation": 0.0} | SETTLED,
        )

    for one in map(jax.jit(found), (1.0, 3.0)):
        assert abs(one.mean - 0.25) < 4 * one.sem
        assert one.sem < 0.02


def test_arguments_that_make_no_sense_are_refused():
    estimate = inspect.unwrap(local_learning_coefficient)
    numbers = {"n_beta": 1.0, "step_size": 0.1, "localisation": 1.0, "num_draws": 2}
    for name, value, allowed in (
        ("n_beta", 0.0, "positive"),
        ("step_size", -1.0, "positive"),
        ("localisation", -1.0, "at least 0"),
        ("num_chains", 1, "at least 2"),
    ):
        with pytest.raises(ValueError, match=rf"{name}.*{value}.*{allowed}"):
            estimate(lambda w, _: w**2, jnp.ones(()), KEY, **numbers | {name: value})
    with pytest.raises(ValueError, match="must be finite"):
        estimate(lambda w, _: jnp.log(w), -jnp.ones(()), KEY, **numbers)
