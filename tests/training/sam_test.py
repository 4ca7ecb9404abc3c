"""SAM gets the loss itself, and agrees with NumPy in every run of a sweep and on any devices."""

import jax
import jax.numpy as jnp
import numpy as np

from el_jax.training.optimizers import OptimizerConfig, make_optimizer
from el_jax.training.state import Hypers

RATES, RHOS = np.array([0.01, 0.05], np.float32), np.array([0.05, 0.5], np.float32)
A = np.array([[3.0, 1.0], [1.0, 2.0]])
START = np.array([1.0, -2.0])


def numpy_sam(rate, rho, num_steps, momentum=0.9):
    """Foret et al. 2021, algorithm 1, over heavy-ball descent of x'Ax / 2."""
    x, velocity = START.copy(), np.zeros(2)
    for _ in range(num_steps):
        slope = A @ x
        uphill = A @ (x + rho * slope / np.linalg.norm(slope))
        velocity = momentum * velocity + uphill
        x = x - rate * velocity
    return x


def test_every_run_of_a_sweep_is_numpys():
    hypers = Hypers(jnp.zeros(2, jnp.uint32), {}, {"peak_lr": RATES, "rho": RHOS})

    def loss_of(params):
        return params["x"] @ jnp.asarray(A, jnp.float32) @ params["x"] / 2, "outputs"

    def one_run(hypers):
        optimizer = make_optimizer(OptimizerConfig("sam", 20), hypers)
        params = {"x": jnp.asarray(START, jnp.float32)}

        def step(carry, _):
            params, state = carry
            grads = jax.grad(lambda p: loss_of(p)[0])(params)
            updates, state = optimizer.update(grads, state, params, loss_of=loss_of)
            return (jax.tree.map(jnp.add, params, updates), state), None

        return jax.lax.scan(step, (params, optimizer.init(params)), length=20)[0][0]["x"]

    found = jax.vmap(one_run)(hypers)
    expected = [numpy_sam(rate, rho, 20) for rate, rho in zip(RATES, RHOS, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_the_gradient_that_is_descended_is_clipped():
    def loss_of(params):
        return 50 * jnp.square(params["x"]).sum(), "outputs"

    params = {"x": jnp.array([3.0, 4.0])}
    grads = jax.grad(lambda p: loss_of(p)[0])(params)
    hypers = Hypers(jnp.uint32(0), {}, {"peak_lr": jnp.float32(0.1)})
    for clip_norm in (2.0, jnp.float32(2.0)):
        numbers = {"clip_norm": clip_norm, "momentum": 0.0}
        fixed = numbers if isinstance(clip_norm, float) else {}
        optimizer = make_optimizer(
            OptimizerConfig("sam", numbers=fixed),
            hypers._replace(optimizer=hypers.optimizer | ({} if fixed else numbers)),
        )
        state = optimizer.init(params)
        updates, _ = optimizer.update(grads, state, params, loss_of=loss_of)
        np.testing.assert_allclose(updates["x"], [-0.12, -0.16], rtol=1e-5)
