"""Signum: the sign of momentum."""

from typing import Annotated

import optax
from jaxtyping import ScalarLike

from el_jax.numbers import Number
from el_jax.training.optimizers.decayed import is_matrix


def signum(
    learning_rate: optax.Schedule,
    *,
    momentum: Annotated[ScalarLike, Number(0.9, at_least=0, below=1)],
    weight_decay: Annotated[ScalarLike, Number(0.0, at_least=0, symbol="wd")],
) -> optax.GradientTransformation:
    """Steps of one size along the sign of a mean of gradients (Bernstein et al. 2018).

    Args:
        learning_rate: function of the number of earlier updates; the size of every entry's step.
        momentum: decay of the mean of gradients; 0 is sign descent.
        weight_decay: decoupled decay of matrices, never of biases or norms.
    """
    return optax.chain(
        optax.ema(momentum, debias=False),
        optax.scale_by_sign(),
        optax.add_decayed_weights(weight_decay, mask=is_matrix),
        optax.scale_by_learning_rate(learning_rate),
    )
