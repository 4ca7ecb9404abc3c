"""AdamW whose second moment changes its memory in the middle of a training."""

from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, ScalarLike

from el_jax.numbers import Number
from el_jax.training.optimizers.decayed import is_matrix


class Moments(NamedTuple):
    """Averages of the gradient and of its square.

    Attributes:
        step: number of updates.
        first: average of the gradients, not yet divided by its weight.
        second: average of their squares, likewise.
        weights: sum of the weights of all gradients in the two averages.
    """

    step: Int[Array, ""]
    first: optax.Params
    second: optax.Params
    weights: Float[Array, "2"]


def adamw_switched(
    learning_rate: optax.Schedule,
    *,
    b1: Annotated[ScalarLike, Number(0.9, at_least=0, below=1, symbol="β₁")],
    b2: Annotated[ScalarLike, Number(0.999, at_least=0, below=1, symbol="β₂")],
    b2_later: Annotated[ScalarLike, Number(0.95, at_least=0, below=1, symbol="later")],
    switch_at: Annotated[ScalarLike, Number(0, at_least=0)],
    epsilon: Annotated[ScalarLike, Number(1e-8, above=0, symbol="ε")],
    weight_decay: Annotated[ScalarLike, Number(0.0, at_least=0, symbol="wd")],
) -> optax.GradientTransformation:
    """AdamW whose decay of the second moment is ``b2`` first and ``b2_later`` from some update on.

    An average is divided by the sum of its weights, which at a constant decay is Adam's 1 - β^t.

    Args:
        learning_rate: function of the number of earlier updates.
        b1: decay of the first moment.
        b2: decay of the second moment in the updates before ``switch_at``.
        b2_later: decay of the second moment from then on.
        switch_at: number of updates that use ``b2``.
        epsilon: added to the root of the second moment.
        weight_decay: decoupled decay of matrices, never of biases or norms.
    """

    def init(params: optax.Params) -> Moments:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return Moments(jnp.int32(0), zeros, zeros, jnp.zeros(2))

    def update(
        grads: optax.Updates, state: Moments, params: optax.Params | None = None
    ) -> tuple[optax.Updates, Moments]:
        del params
        now = jnp.where(state.step < switch_at, b2, b2_later)
        first = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.first, grads)
        second = jax.tree.map(lambda v, g: now * v + (1 - now) * g * g, state.second, grads)
        decays = jnp.stack([jnp.asarray(b1, jnp.float32), now])
        weights = decays * state.weights + 1 - decays
        steps = jax.tree.map(
            lambda m, v: m / weights[0] / (jnp.sqrt(v / weights[1]) + epsilon), first, second
        )
        return steps, Moments(state.step + 1, first, second, weights)

    return optax.chain(
        optax.GradientTransformation(init, update),
        optax.add_decayed_weights(weight_decay, is_matrix),
        optax.scale_by_learning_rate(learning_rate),
    )
