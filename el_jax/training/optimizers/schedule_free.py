"""AdamW at a constant rate whose parameters are a running average."""

from typing import Annotated, Any

import jax
import optax
from jaxtyping import ScalarLike

from el_jax.numbers import Number
from el_jax.training.optimizers.adamw import adamw


def schedule_free(
    learning_rate: optax.Schedule,
    *,
    b1: Annotated[ScalarLike, Number(0.9, at_least=0.1, below=1, symbol="β₁")],
    b2: Annotated[ScalarLike, Number(0.999, at_least=0, below=1, symbol="β₂")],
    weight_decay: Annotated[ScalarLike, Number(0.0, at_least=0, symbol="wd")],
) -> optax.GradientTransformationExtraArgs:
    """Schedule-free AdamW (Defazio et al. 2024, arXiv 2405.15682).

    The parameters of the run are the average x, so that metrics, probes and checkpoints are of what
    the method returns. Its gradient is taken at y = (1 - β₁) z + β₁ x, z being Adam's own iterate,
    in a second pass: an update costs two gradients.

    Args:
        learning_rate: function of the number of earlier updates; warm-up, then constant.
        b1: weight of the average in y; below .1 rounding would add up in x.
        b2: decay of the second moment.
        weight_decay: decoupled decay of matrices, never of biases or norms.
    """
    base = adamw(learning_rate, b1=0.0, b2=b2, epsilon=1e-8, weight_decay=weight_decay)
    # an iterate's weight is the square of the largest rate up to its step; optax counts from 1
    of_y = optax.contrib.schedule_free(base, lambda count: learning_rate(count - 1), b1=b1)

    def update(
        grads: Any, state: Any, params: Any = None, *, loss_of: Any, clip: Any = None, **_: Any
    ) -> Any:
        y = jax.tree.map(lambda x, z: b1 * x + (1 - b1) * z, params, state.z)
        grads = jax.grad(loss_of, has_aux=True)(y)[0]
        changes, state = of_y.update(grads if clip is None else clip(grads), state, y)
        x = optax.contrib.schedule_free_eval_params(state, optax.apply_updates(y, changes))
        return optax.tree.sub(x, params), state

    return optax.GradientTransformationExtraArgs(of_y.init, update)
