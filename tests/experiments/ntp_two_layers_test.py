"""The networks of ntp_two_layers: their loss, and steps of length 1 in the method's own norm."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from el_jax.process.double_precision import float64
from experiments.ntp_two_layers.run import METHODS, NORMS, Data, loss, normalised


def random_layers(seed):
    rng = np.random.default_rng(seed)
    return jnp.asarray(rng.standard_normal((24, 8))), jnp.asarray(rng.standard_normal((4, 24)))


def random_data():
    return Data(jnp.asarray(np.random.default_rng(5).standard_normal((6, 8))), jnp.arange(6) % 4)


def test_loss_is_cross_entropy_and_its_gradient_survives_large_margins():
    with float64():
        layers, data = random_layers(0), random_data()
        logits = jax.nn.relu(data.inputs @ layers[0].T) @ layers[1].T
        log_q = jax.nn.log_softmax(logits)[jnp.arange(6), data.classes]
        assert float(loss(layers, data)) == pytest.approx(-float(log_q.mean()), rel=1e-12)
        one = Data(jnp.ones((1, 1)), jnp.zeros(1, int))
        far = jnp.ones((1, 1)), jnp.array([[200.0], [0.0], [0.0], [0.0]])
        slope = jax.grad(loss)(far, one)[1]  # cross-entropy's 1 - q would be rounded to 0
        assert float(slope[0, 0]) == pytest.approx(-3 * np.exp(-200.0), rel=1e-9)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "Adam"])
def test_a_step_is_steepest_descent_in_the_own_norm(name):
    method = METHODS[name]
    with float64():
        gradient, other = random_layers(1), random_layers(2)
        change, _ = method.transform.update(gradient, method.transform.init(gradient))
        size = NORMS[method.norm]

        def along(direction):
            return sum(float(jnp.vdot(g, d)) for g, d in zip(gradient, direction, strict=True))

        assert size(*map(np.asarray, change)) == pytest.approx(1.0)
        assert along(change) > along(other) / size(*map(np.asarray, other))
        assert along(change) > along(gradient) / size(*map(np.asarray, gradient)) - 1e-9


def test_margins_do_not_depend_on_the_size_of_the_weights():
    with float64():
        layers, data = random_layers(3), random_data()
        once, scaled = normalised(layers, data), normalised((3 * layers[0], 3 * layers[1]), data)
    # at large weights the logsumexp of the other classes is their maximum
    assert once.keys() == scaled.keys() == NORMS.keys()
    for norm, value in once.items():
        assert scaled[norm] == pytest.approx(value, rel=0.1)
