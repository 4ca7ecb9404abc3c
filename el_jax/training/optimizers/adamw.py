"""AdamW: moments of the gradient, and decoupled weight decay."""

from typing import Annotated

import optax
from jaxtyping import ScalarLike

from el_jax.numbers import Number
from el_jax.training.optimizers.decayed import is_matrix


def adamw(
    learning_rate: optax.Schedule,
    *,
    b1: Annotated[ScalarLike, Number(0.9, at_least=0, below=1, symbol="β₁")],
    b2: Annotated[ScalarLike, Number(0.999, at_least=0, below=1, symbol="β₂")],
    epsilon: Annotated[ScalarLike, Number(1e-8, above=0, symbol="ε")],
    weight_decay: Annotated[ScalarLike, Number(0.0, at_least=0, symbol="wd")],
) -> optax.GradientTransformation:
    """AdamW (Loshchilov & Hutter 2019, algorithm 2, arXiv 1711.05101).

    Args:
        learning_rate: function of the number of earlier updates.
        b1: decay of the first moment.
        b2: decay of the second moment.
        epsilon: added to the root of the second moment.
        weight_decay: decay of matrices only, by the rate times it per update, as in PyTorch.
    """
    return optax.adamw(
        learning_rate, b1=b1, b2=b2, eps=epsilon, weight_decay=weight_decay, mask=is_matrix
    )
