"""A small masked language model of a world with all contexts enumerated, and its minima.

A context is a sentence with one word hidden. The network sums a vector for the word at each place,
applies tanh, and returns V logits. With n contexts and more than n (V - 1) parameters it can fit
everywhere: at the minimisers Γ all log-odds equal the world's, and Γ is a manifold of dimension
P - n (V - 1) wherever the Jacobian of the log-odds has full rank.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from el_jax.types import Key
from el_jax.worlds import World, every_masked_context

LEARNING_RATE = 0.01  # of Adam at the start; it falls to 0 along a cosine
FIT_STEPS = 8  # of least length, onto Γ


class Contexts(NamedTuple):
    """All inputs and the truth about them.

    Attributes:
        inputs: one-hot words by place, with the mask as a further word, ``[n, T (V + 1)]``.
        weights: probabilities of the contexts, ``[n]``.
        truth: distribution of the hidden word, ``[n, V]``.
    """

    inputs: Float[Array, "n D"]
    weights: Float[Array, " n"]
    truth: Float[Array, "n V"]


class Net(NamedTuple):
    """Parameters.

    Attributes:
        words: a vector for each word at each place, ``[T (V + 1), M]``.
        bias: ``[M]``.
        head: ``[M, V]``.
    """

    words: Float[Array, "D M"]
    bias: Float[Array, " M"]
    head: Float[Array, "M V"]


def contexts_of(world: World) -> Contexts:
    """Every context of a small world."""
    found = every_masked_context(world)
    one_hot = jax.nn.one_hot(found.tokens, world.vocab_size + 1, dtype=float)
    inputs = one_hot.reshape(len(found.tokens), -1)
    return Contexts(inputs, jnp.asarray(found.weights), jnp.exp(found.log_conditionals))


def initial(key: Key, given: Contexts, width: int, scale: float) -> Net:
    """Gaussian weights whose sums have variance ``scale``² before tanh, and about 1 after it."""
    words_key, head_key = jax.random.split(key)
    inputs, classes = given.inputs.shape[1], given.truth.shape[1]
    length = inputs / (classes + 1)  # words that are on
    return Net(
        scale * jax.random.normal(words_key, (inputs, width)) / length**0.5,
        jnp.zeros(width),
        jax.random.normal(head_key, (width, classes)) / width**0.5,
    )


def log_probs(net: Net, inputs: Float[Array, "n D"]) -> Float[Array, "n V"]:
    """Log-probabilities of the hidden word, in nats."""
    return jax.nn.log_softmax(jnp.tanh(inputs @ net.words + net.bias[None]) @ net.head)


def divergence(net: Net, given: Contexts) -> Float[Array, ""]:
    """The population loss above the world's entropy: mean KL(truth, model), in nats."""
    gaps = jnp.log(given.truth) - log_probs(net, given.inputs)
    return given.weights @ (given.truth * gaps).sum(axis=1)


def log_odds(net: Net, given: Contexts) -> Float[Array, "n V-1"]:
    """Log-probabilities of the words less that of word 0: coordinates of the model's function."""
    found = log_probs(net, given.inputs)
    return found[:, 1:] - found[:, :1]


def jacobian(net: Net, given: Contexts) -> Float[Array, "n V-1 P"]:
    """Derivatives of the log-odds; at a minimum their span is the normal space of Γ."""
    flat, restore = ravel_pytree(net)
    return jax.jacrev(lambda theta: log_odds(restore(theta), given))(flat)


def trace(net: Net, given: Contexts) -> Float[Array, ""]:
    """The trace of the Fisher matrix, by sums over all labels; on Γ it equals the Hessian's."""
    slopes = jacobian(net, given)
    p = jnp.exp(log_probs(net, given.inputs))[:, 1:]
    of_labels = p[:, :, None] * jnp.eye(p.shape[1])[None] - p[:, :, None] * p[:, None, :]
    return jnp.einsum("n,nvw,nvp,nwp->", given.weights, of_labels, slopes, slopes)


def flattening(net: Net, given: Contexts) -> Float[Array, " P"]:
    """-∇_Γ Tr H at a minimum: downhill for the trace, projected on the tangent space of Γ.

    The trace is that of the Fisher matrix, which equals the Hessian's everywhere on Γ, so that
    their slopes along Γ agree.
    """
    slope = ravel_pytree(jax.grad(trace)(net, given))[0]
    rows = jacobian(net, given).reshape(-1, slope.size)
    return rows.T @ jnp.linalg.solve(rows @ rows.T, rows @ slope) - slope


def nearest_minimum(net: Net, given: Contexts, *, num_steps: int = FIT_STEPS) -> Net:
    """The point of Γ that Gauss-Newton steps of least length reach."""
    truth = jnp.log(given.truth)
    target = truth[:, 1:] - truth[:, :1]

    def step(net: Net, _: None) -> tuple[Net, None]:
        theta, restore = ravel_pytree(net)
        rows = jacobian(net, given).reshape(-1, theta.size)
        missing = (target - log_odds(net, given)).ravel()
        return restore(theta + rows.T @ jnp.linalg.solve(rows @ rows.T, missing)), None

    return jax.lax.scan(step, net, length=num_steps)[0]


@partial(jax.jit, static_argnames=("width", "num_steps"))
def trained(key: Key, given: Contexts, *, width: int, scale: float, num_steps: int) -> Net:
    """A minimum: full-batch Adam on the population loss, and steps of least length onto Γ."""
    optimizer = optax.adam(optax.cosine_decay_schedule(LEARNING_RATE, num_steps))

    def update(state: tuple[Net, optax.OptState], _: None) -> tuple[tuple, None]:
        net, memory = state
        change, memory = optimizer.update(jax.grad(divergence)(net, given), memory)
        return (optax.apply_updates(net, change), memory), None

    net = initial(key, given, width, scale)
    (net, _), _ = jax.lax.scan(update, (net, optimizer.init(net)), length=num_steps)
    return nearest_minimum(net, given)
