"""Gradient descent with momentum."""

from typing import Annotated

import optax
from jaxtyping import ScalarLike

from el_jax.numbers import Number
from el_jax.training.optimizers.decayed import is_matrix


def sgd(
    learning_rate: optax.Schedule,
    *,
    momentum: Annotated[ScalarLike, Number(0.9, at_least=0, below=1)],
    weight_decay: Annotated[ScalarLike, Number(0.0, at_least=0)],
) -> optax.GradientTransformation:
    """Gradient descent with heavy-ball momentum, m ← momentum m + g (Polyak 1964).

    Args:
        learning_rate: function of the number of earlier updates.
        momentum: decay of the sum of gradients; 0 is plain gradient descent.
        weight_decay: added to the gradient of matrices, never of biases or norms.
    """
    return optax.chain(
        optax.add_decayed_weights(weight_decay, mask=is_matrix),
        optax.sgd(learning_rate, momentum=momentum),
    )
