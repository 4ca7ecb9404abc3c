"""Types that objectives on later tokens share: their inputs and their results."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from el_jax.types import Key, Params

INIT_STD = 0.02


class Answers(NamedTuple):
    """The answers of a batch, and the model's hidden states where they are supervised.

    Attributes:
        hidden: input of the head at each place, float32, ``[S, A, E]``.
        labels: the token that follows there, ``[S, A]``.
        mask: False for filling, ``[S, A]``.
        head: one column per class, float32, ``[E, V]``.
        bias: bias of each class, ``[V]``; zeros for a head without.
    """

    hidden: Float[Array, "S A E"]
    labels: Int[Array, "S A"]
    mask: Bool[Array, "S A"]
    head: Float[Array, "E V"]
    bias: Float[Array, " V"]


class Future(NamedTuple):
    """An objective on later tokens.

    Attributes:
        init: ``init(key)``, its own parameters, a dict of float32 arrays.
        term: ``term(own, answers) -> [S, A]``, the loss at each place in nats; 0 at the last place
            of an answer if it has no later token.
    """

    init: Callable[[Key], Params]
    term: Callable[[Params, Answers], Array]


def matrix(key: Key, rows: int, columns: int) -> Float[Array, "rows columns"]:
    """A random matrix with small entries."""
    return INIT_STD * jax.random.normal(key, (rows, columns))


def later(values: Array, places: int) -> Array:
    """The values ``places`` later in the same answer, ``[S, A, ...]``; zeros past its end."""
    kept = values[:, places:]
    filling = jnp.zeros((len(values), places, *values.shape[2:]), values.dtype)
    return jnp.concatenate([kept, filling], axis=1)


def cross_entropy_of(
    logits: Float[Array, "*places V"], labels: Int[Array, "*places"]
) -> Float[Array, "*places"]:
    """-log of the softmax at the label."""
    picked = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return jax.nn.logsumexp(logits, axis=-1) - picked
