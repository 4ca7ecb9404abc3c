"""The transformer of section 6, its loss, and the trace of the Hessian at zero loss.

Attention at the first token, one ReLU layer, a scalar: f = uᵀ relu(W_V Σ_τ a_τ x_τ) with
a = softmax_τ(⟨W_K x_τ, W_Q x_1⟩). The loss is E (f − y)². Where f = y on every input its Hessian is
2 E ∇f ∇fᵀ (Lemma D.4).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.worlds.dyck import BracketInputs

# Pre-activations that are 0 by construction come out near 1e-16, with either sign. Values below
# this count as 0, so that relu'(0) = 0 holds on a kink despite rounding.
KINK = 1e-9
INPUTS_AT_ONCE = 48  # for gradients of f: one gradient with 5,040 neurons takes a megabyte

Tokens = Float[Array, "T 2*T"]


class Net(NamedTuple):
    """The parameters.

    Attributes:
        queries: W_Q, ``[2T, 2T]``.
        keys: W_K, ``[2T, 2T]``.
        values: W_V, one row a neuron, ``[m, 2T]``.
        head: u, ``[m]``.
    """

    queries: Float[Array, "2*T 2*T"]
    keys: Float[Array, "2*T 2*T"]
    values: Float[Array, "m 2*T"]
    head: Float[Array, " m"]


def features(net: Net, tokens: Tokens, *, kink: float = KINK) -> Float[Array, " m"]:
    """relu(W_V z), where z is attention's average of the tokens, at the first one.

    Args:
        net: the parameters.
        tokens: one input.
        kink: pre-activations up to here are off; 0 leaves those on a kink to rounding.
    """
    scores = (tokens @ net.keys.T) @ (net.queries @ tokens[0])
    active = net.values @ (jax.nn.softmax(scores) @ tokens)
    return jnp.where(active > kink, active, 0)


def output(net: Net, tokens: Tokens, *, kink: float = KINK) -> Float[Array, ""]:
    """The prediction f of one input."""
    return net.head @ features(net, tokens, kink=kink)


def squared_error(net: Net, batch: BracketInputs) -> Float[Array, ""]:
    """E (f − y)² over a batch."""
    outputs = jax.vmap(output, (None, 0))(net, jnp.asarray(batch.inputs))
    return jnp.square(outputs - batch.answers).mean()


def squared_gradient(net: Net, inputs: Float[Array, "n T 2*T"], *, kink: float = KINK) -> Net:
    """E (∂f/∂θ)² over inputs, for each parameter."""

    def of_one(tokens: Tokens) -> Net:
        return jax.tree.map(jnp.square, jax.grad(output)(net, tokens, kink=kink))

    def add(total: Net, chunk: Float[Array, "c T 2*T"]) -> tuple[Net, None]:
        sums = jax.tree.map(lambda leaf: leaf.sum(axis=0), jax.vmap(of_one)(chunk))
        return jax.tree.map(jnp.add, total, sums), None

    # 2 T C(T, T/2) inputs divide into chunks of 48 without a rest for T = 4, 6 and 10
    num = len(inputs)
    size = next(size for size in range(INPUTS_AT_ONCE, 0, -1) if num % size == 0)
    chunks = jnp.reshape(inputs, (num // size, size, *inputs.shape[1:]))
    total, _ = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, net), chunks)
    return jax.tree.map(lambda leaf: leaf / num, total)


def trace(squares: Net) -> Float[Array, ""]:
    """2 E ‖∇f‖² from ``squared_gradient``: the trace of the Hessian at zero loss."""
    return 2 * jnp.stack([leaf.sum() for leaf in squares]).sum()


def rescaled_trace(squares: Net) -> Float[Array, ""]:
    """The least trace over rescalings s_i, u_i → s_i u_i and w_i → w_i / s_i, that preserve f.

    A neuron's two parts become E (∂f/∂u_i)² / s_i² and s_i² E ‖∂f/∂w_i‖², whose least sum is twice
    their geometric mean.
    """
    neurons = 2 * jnp.sqrt(squares.head * squares.values.sum(axis=1)).sum()
    return 2 * (squares.queries.sum() + squares.keys.sum() + neurons)
