"""AdamW with noise added to the gradient."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import ScalarLike

from el_jax.numbers import Number
from el_jax.training.optimizers.adamw import adamw


def noisy_adamw(
    learning_rate: optax.Schedule,
    *,
    noise: Annotated[ScalarLike, Number(0.01, at_least=0)],
    fading: Annotated[ScalarLike, Number(0.55, at_least=0)],
    b1: Annotated[ScalarLike, Number(0.9, at_least=0, below=1, symbol="β₁")],
    b2: Annotated[ScalarLike, Number(0.999, at_least=0, below=1, symbol="β₂")],
) -> optax.GradientTransformationExtraArgs:
    """AdamW on gradients with Gaussian noise (Neelakantan et al. 2015, arXiv 1511.06807).

    Args:
        learning_rate: function of the number of earlier updates.
        noise: variance of the noise on every entry at the first update, the paper's η.
        fading: the paper's γ: the variance at update t, counted from 0, is η / (1 + t)^γ.
        b1: decay of the first moment.
        b2: decay of the second moment.
    """
    adam = adamw(learning_rate, b1=b1, b2=b2, epsilon=1e-8, weight_decay=0.0)

    def init(params: Any) -> Any:
        return jnp.int32(0), adam.init(params)

    def update(grads: Any, state: Any, params: Any = None, *, key: Any, **_: Any) -> Any:
        step, inner = state
        deviation = jnp.sqrt(noise / (1.0 + step) ** fading)
        drawn = optax.tree.random_like(key, grads, sampler=jax.random.normal)
        noisy = optax.tree.add_scale(grads, deviation, drawn)
        changes, inner = adam.update(noisy, inner, params)
        return changes, (step + 1, inner)

    return optax.GradientTransformationExtraArgs(init, update)
