"""Lion: the sign of two means of the gradient."""

from typing import Annotated

import optax
from jaxtyping import ScalarLike

from el_jax.numbers import Number
from el_jax.training.optimizers.decayed import is_matrix


def lion(
    learning_rate: optax.Schedule,
    *,
    b1: Annotated[ScalarLike, Number(0.9, at_least=0, below=1, symbol="β₁")],
    b2: Annotated[ScalarLike, Number(0.99, at_least=0, below=1, symbol="β₂")],
    weight_decay: Annotated[ScalarLike, Number(0.0, at_least=0, symbol="wd")],
) -> optax.GradientTransformation:
    """Lion (Chen et al. 2023, arXiv 2302.06675); biases and norms do not decay."""
    return optax.lion(learning_rate, b1=b1, b2=b2, weight_decay=weight_decay, mask=is_matrix)
