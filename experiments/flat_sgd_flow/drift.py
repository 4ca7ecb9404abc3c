"""The drift along the minimisers: the flow that theory predicts, and SGD itself.

In rescaled time t = η² k / B, with k steps of SGD at rate η and batch B, the flow of Theorem 4.3 is
dθ/dt = -¼ ∇_Γ Tr H, whatever η and B.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from el_jax.types import Key
from experiments.flat_sgd_flow.network import (
    Contexts,
    Net,
    divergence,
    flattening,
    log_probs,
    nearest_minimum,
    trace,
)

ONTO = 3  # steps back onto Γ after each step of the flow
RELAX_STEPS, RELAX_RATE = 500, 0.5  # without noise, before a trace is read


@partial(jax.jit, static_argnames=("num_marks", "steps_per_mark"))
def predicted_traces(
    net: Net, given: Contexts, duration: float, *, num_marks: int, steps_per_mark: int
) -> Float[Array, " S"]:
    """Tr H along the flow at ``num_marks`` equal marks up to ``duration``, and at 0 before them.

    Midpoint steps, each followed by steps of least length onto Γ.
    """
    stride = duration / (num_marks * steps_per_mark)

    def moved(net: Net, along: Net, length: float | Array) -> Net:
        theta, restore = ravel_pytree(net)
        return restore(theta + length / 4 * flattening(along, given))

    def step(net: Net, _: None) -> tuple[Net, None]:
        halfway = moved(net, net, stride / 2)
        after = moved(net, halfway, stride)
        return nearest_minimum(after, given, num_steps=ONTO), None

    def mark(net: Net, _: None) -> tuple[Net, Array]:
        net, _ = jax.lax.scan(step, net, length=steps_per_mark)
        return net, trace(net, given)

    _, traces = jax.lax.scan(mark, net, length=num_marks)
    return jnp.concatenate([trace(net, given)[None], traces])


def predicted_slope(net: Net, given: Contexts) -> Float[Array, ""]:
    """The fall of Tr H per unit of rescaled time, ¼ ‖∇_Γ Tr H‖²."""
    return jnp.square(flattening(net, given)).sum() / 4


@partial(jax.jit, static_argnames="batch")
def stochastic_descent(
    nets: Net, keys: Key, given: Contexts, rate: float, num_steps: int, *, batch: int
) -> Net:
    """SGD with fresh contexts and words at every step; nets and keys have a leading axis."""
    classes = given.truth.shape[1]
    cumulative = jnp.cumsum((given.weights[:, None] * given.truth).ravel())

    def loss(net: Net, drawn: Array) -> Array:
        found = log_probs(net, given.inputs[drawn // classes])
        return -jnp.take_along_axis(found, (drawn % classes)[:, None], axis=1).mean()

    def run(net: Net, key: Key) -> Net:
        def step(number: Array, net: Net) -> Net:
            uniform = jax.random.uniform(jax.random.fold_in(key, number), (batch,), float)
            drawn = jnp.searchsorted(cumulative, uniform * cumulative[-1])
            return _stepped(net, jax.grad(loss)(net, drawn), rate)

        return jax.lax.fori_loop(0, num_steps, step, net)

    return jax.vmap(run)(nets, keys)


@jax.jit
def full_descent(nets: Net, given: Contexts, rate: float, num_steps: int) -> Net:
    """Gradient descent on the population loss: the same steps without noise."""

    def step(_: Array, net: Net) -> Net:
        return _stepped(net, jax.grad(divergence)(net, given), rate)

    return jax.vmap(lambda net: jax.lax.fori_loop(0, num_steps, step, net))(nets)


def _stepped(net: Net, slope: Net, rate: float | Array) -> Net:
    return jax.tree.map(lambda x, g: x - rate * g, net, slope)


class Seen(NamedTuple):
    """Measurements of nets.

    Attributes:
        trace: Tr H at the minimum to which gradient descent leads, ``[R]``.
        slope: its predicted fall there per unit of rescaled time, ``[R]``.
        divergence: the net's own population loss above the entropy, ``[R]``.
    """

    trace: Float[Array, " R"]
    slope: Float[Array, " R"]
    divergence: Float[Array, " R"]


@jax.jit
def measured(nets: Net, given: Contexts) -> Seen:
    """Measure nets with a leading axis.

    The theory is about the minimum that gradient flow reaches from SGD's position; the nearest
    minimum differs from it as far as Γ curves over the range of the noise.
    """
    relaxed = full_descent(nets, given, RELAX_RATE, RELAX_STEPS)

    def of_one(net: Net, relaxed: Net) -> Seen:
        minimum = nearest_minimum(relaxed, given)
        return Seen(trace(minimum, given), predicted_slope(minimum, given), divergence(net, given))

    return jax.vmap(of_one)(nets, relaxed)
