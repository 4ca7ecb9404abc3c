"""A bag of future tokens: the tokens still to come, regardless of order."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.training.objectives.future.term import Answers, Future, matrix
from el_jax.types import Key, Params


def bag(width: int, num_classes: int) -> Future:
    """Binary cross-entropy for each class: is it among the tokens to come? Summed over classes.

    The bag-of-words summary of Future Summary Prediction (arXiv 2510.14751), without its weights
    for rare words, predicted by its own linear head. The tokens to come include the next one.

    Args:
        width: E.
        num_classes: V.
    """

    def init(key: Key) -> Params:
        return {"kernel": matrix(key, width, num_classes), "bias": jnp.zeros(num_classes)}

    def term(own: Params, answers: Answers) -> Float[Array, "S A"]:
        logits = answers.hidden @ own["kernel"] + own["bias"][None, None]
        # log(1 + exp(f)) - f y is the loss of a logit f against y
        return (jax.nn.softplus(logits) - logits * to_come(answers, num_classes)).sum(-1)

    return Future(init, term)


def to_come(answers: Answers, num_classes: int) -> Float[Array, "S A V"]:
    """1 for the classes at this place of the answer or later, 0 for the others."""
    here: Array = jax.nn.one_hot(answers.labels, num_classes) * answers.mask[..., None]
    return jax.lax.cummax(here, axis=1, reverse=True)
