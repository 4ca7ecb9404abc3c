"""AdamW until the loss is saturated, and then AdamW or plain SGD at a constant rate."""

from typing import Annotated

import jax
import jax.numpy as jnp
import optax
from jaxtyping import ScalarLike

from el_jax.numbers import Number
from el_jax.training.optimizers.decayed import is_matrix

B1, B2, EPSILON, WEIGHT_DECAY = 0.9, 0.98, 1e-6, 0.01  # of the paper's released code


def adamw_then(
    learning_rate: optax.Schedule,
    *,
    saturate: Annotated[ScalarLike, Number(1, at_least=1)],
    adamw_after: Annotated[ScalarLike, Number(0.0, at_least=0)],
    sgd_after: Annotated[ScalarLike, Number(0.0, at_least=0)],
) -> optax.GradientTransformation:
    """AdamW whose rate falls to 0 in ``saturate`` updates; then the sum of AdamW's step and SGD's.

    Args:
        learning_rate: function of the number of earlier updates; every rate is a multiple of it.
        saturate: updates of the first phase, whose multiple falls linearly from 1 to 0.
        adamw_after: multiple of AdamW's step afterwards.
        sgd_after: multiple of the gradient afterwards.
    """
    adamw = optax.chain(
        optax.scale_by_adam(B1, B2, EPSILON), optax.add_decayed_weights(WEIGHT_DECAY, is_matrix)
    )

    def update(
        grads: optax.Updates, state: tuple, params: optax.Params | None = None
    ) -> tuple[optax.Updates, tuple]:
        step, of_adamw = state
        steps, of_adamw = adamw.update(grads, of_adamw, params)
        left = 1 - step / saturate
        of_steps = jnp.where(left > 0, left, adamw_after)
        of_grads = jnp.where(left > 0, 0.0, sgd_after)
        rate = learning_rate(step)
        moved = jax.tree.map(lambda s, g: -rate * (of_steps * s + of_grads * g), steps, grads)
        return moved, (step + 1, of_adamw)

    return optax.GradientTransformation(
        lambda params: (jnp.int32(0), adamw.init(params)),
        update,  # type: ignore[arg-type]
    )
