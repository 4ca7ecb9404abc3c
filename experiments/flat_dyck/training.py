"""Nets trained by gradient descent to zero pre-training loss: plain, flattened, or with noise."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from el_jax.types import Key
from el_jax.worlds.dyck import BracketInputs
from experiments.flat_dyck.model import Net, output, squared_error, squared_gradient, trace

LEARNING_RATE = 0.01  # Adam's at the start; it falls to 0 along a cosine
ATTENTION_SCALE = 0.1  # at the start, over √(2T)
FIT_STEPS = 25


class Training(NamedTuple):
    """A term that training adds to the loss.

    Attributes:
        penalty: μ of μ E ‖∇f‖², half the trace.
        noise: size of a random sign added to every label, drawn anew at every step.
    """

    penalty: float = 0.0
    noise: float = 0.0


TRAININGS = {
    "plain": Training(),
    "label noise": Training(noise=1.0),
    "penalty": Training(penalty=0.03),
}


def initial(key: Key, length: int, num_neurons: int) -> Net:
    """Gaussian neurons, a head of length about 1, and attention that is nearly uniform."""
    first, second, third, fourth = jax.random.split(key, 4)
    dim, scale = 2 * length, ATTENTION_SCALE / (2 * length) ** 0.5
    return Net(
        scale * jax.random.normal(first, (dim, dim)),
        scale * jax.random.normal(second, (dim, dim)),
        jax.random.normal(third, (num_neurons, dim)),
        jax.random.normal(fourth, (num_neurons,)) / num_neurons**0.5,
    )


@partial(jax.jit, static_argnames=("training", "num_neurons", "num_steps"))
def train(
    key: Key, masked: BracketInputs, training: Training, *, num_neurons: int, num_steps: int
) -> Net:
    """Adam on all masked inputs, then ``fit`` without penalty and noise.

    Args:
        key: draws the start and the noise of labels.
        masked: every masked input.
        training: the term added to the loss.
        num_neurons: m.
        num_steps: steps of Adam.
    """
    optimizer = optax.adam(optax.cosine_decay_schedule(LEARNING_RATE, num_steps))
    start, noise = jax.random.split(key)
    net = initial(start, masked.inputs.shape[1], num_neurons)

    def objective(net: Net, step: Array) -> Array:
        signs = jax.random.rademacher(jax.random.fold_in(noise, step), masked.answers.shape, float)
        loss = squared_error(net, masked._replace(answers=masked.answers + training.noise * signs))
        if training.penalty:
            loss += training.penalty / 2 * trace(squared_gradient(net, jnp.asarray(masked.inputs)))
        return loss

    def update(state: tuple[Net, optax.OptState], step: Array) -> tuple[tuple, None]:
        net, memory = state
        change, memory = optimizer.update(jax.grad(objective)(net, step), memory)
        return (optax.apply_updates(net, change), memory), None

    (net, _), _ = jax.lax.scan(update, (net, optimizer.init(net)), jnp.arange(num_steps))
    return fit(net, masked)


def fit(net: Net, masked: BracketInputs) -> Net:
    """The zero of the loss near a net, by damped Gauss-Newton steps of least length."""
    start, restore = ravel_pytree(net)
    inputs = jnp.asarray(masked.inputs)

    def errors(theta: Float[Array, " P"]) -> Float[Array, " n"]:
        return jax.vmap(output, (None, 0))(restore(theta), inputs) - masked.answers

    def slope(theta: Float[Array, " P"], tokens: Array) -> Float[Array, " P"]:
        return jax.grad(lambda theta: output(restore(theta), tokens))(theta)

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        theta, damping = state
        now = errors(theta)
        slopes = jax.vmap(slope, (None, 0))(theta, inputs)
        gram = slopes @ slopes.T + damping * jnp.eye(len(now))
        moved = theta - slopes.T @ jnp.linalg.solve(gram, now)
        better = jnp.sum(errors(moved) ** 2) < jnp.sum(now**2)
        factor = jnp.where(better, 0.3, 3.0)
        return (jnp.where(better, moved, theta), damping * factor), None

    (theta, _), _ = jax.lax.scan(step, (start, jnp.asarray(0.01)), length=FIT_STEPS)
    return restore(theta)
