"""A bag of future tokens: which tokens are still to come, in whatever order."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.training.objectives.future.term import Answers, Future, matrix
from el_jax.types import Key, Params


def bag(width: int, num_classes: int) -> Future:
    """Binary cross-entropy of each class being among the tokens to come, summed over classes.

    The bag-of-words summary of Future Summary Prediction (arXiv 2510.14751), without its weights of
    rare words; a linear head of its own predicts it. The next token counts among those to come.

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
    """1 for the classes at a place of the answer or behind it, 0 for the others."""
    here: Array = jax.nn.one_hot(answers.labels, num_classes) * answers.mask[..., None]
    return jax.lax.cummax(here, axis=1, reverse=True)
