"""Token-order prediction: rank the tokens to come by how soon they come."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.training.objectives.future.term import Answers, Future, matrix
from el_jax.types import Key, Params


def token_order(width: int, num_classes: int) -> Future:
    """The ListNet loss of a separate linear head (Zuhri et al. 2025, arXiv 2508.19228).

    The target is a softmax, over the classes still to come, of minus the number of places until
    each comes next; the next token is 0 places away. The window is the rest of the answer.

    Args:
        width: E.
        num_classes: V.
    """

    def init(key: Key) -> Params:
        return {"kernel": matrix(key, width, num_classes)}

    def term(own: Params, answers: Answers) -> Float[Array, "S A"]:
        distance = places_until(answers, num_classes)
        some = jnp.isfinite(distance).any(-1, keepdims=True)  # a softmax over none is NaN
        target = jnp.where(some, jax.nn.softmax(-distance), 0.0)
        return -(target * jax.nn.log_softmax(answers.hidden @ own["kernel"])).sum(-1)

    return Future(init, term)


def places_until(answers: Answers, num_classes: int) -> Float[Array, "S A V"]:
    """Places from each place of an answer to the next token of each class; infinite if none."""
    classes = jnp.arange(num_classes)
    here = (answers.labels[..., None] == classes[None, None]) & answers.mask[..., None]

    def step(behind: Array, now: Array) -> tuple[Array, Array]:
        distance = jnp.where(now, 0.0, behind + 1)
        return distance, distance

    none = jnp.full((len(answers.labels), num_classes), jnp.inf)
    _, distances = jax.lax.scan(step, none, here.swapaxes(0, 1), reverse=True)
    return distances.swapaxes(0, 1)
