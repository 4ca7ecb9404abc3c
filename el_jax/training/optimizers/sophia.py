"""Sophia: momentum over a running estimate of the Hessian's diagonal, clipped entry by entry."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import ScalarLike

from el_jax.numbers import Number
from el_jax.training.optimizers.decayed import is_matrix


def sophia(
    learning_rate: optax.Schedule,
    *,
    b1: Annotated[ScalarLike, Number(0.965, at_least=0, below=1, symbol="β₁")],
    b2: Annotated[ScalarLike, Number(0.99, at_least=0, below=1, symbol="β₂")],
    gamma: Annotated[ScalarLike, Number(0.01, above=0, symbol="γ")],
    interval: Annotated[ScalarLike, Number(10, at_least=1)],
    weight_decay: Annotated[ScalarLike, Number(0.0, at_least=0, symbol="wd")],
) -> optax.GradientTransformationExtraArgs:
    """Sophia-H (Liu, Li, Hall, Liang, Ma 2023, arXiv 2305.14342), in the form of optax.contrib.

    That corrects the mean gradient for its start; the first update, before any diagonal, is of
    signs.

    Args:
        learning_rate: function of the number of earlier updates; the largest change of an entry.
        b1: decay of the mean gradient.
        b2: decay of the mean diagonal.
        gamma: the mean gradient is divided by gamma times the diagonal and clipped to [-1, 1]; the
            smaller gamma is, the more entries are clipped.
        interval: updates from one estimate of the diagonal to the next. An estimate costs about two
            gradients; under vmap it is computed in every update, also where it is not used.
        weight_decay: decoupled decay of matrices, never of biases or norms.
    """
    return optax.contrib.sophia(
        learning_rate,
        b1=b1,
        b2=b2,
        weight_decay=weight_decay,
        weight_decay_mask=is_matrix,
        gamma=gamma,
        update_interval=interval,
        hessian_diagonal_fn=optax.GradientTransformationExtraArgs(
            optax.init_empty_state, _diagonal
        ),
    )


def _diagonal(
    _: Any, state: Any, params: Any = None, *, loss_of: Any, key: Any, **__: Any
) -> tuple[Any, Any]:
    """Hutchinson's estimate v ∘ Hv with random signs v, twice in reverse mode, as losses allow."""
    signs = optax.tree.random_like(key, params, sampler=jax.random.rademacher)
    slope = jax.grad(loss_of, has_aux=True)
    product = jax.grad(lambda there: optax.tree.vdot(slope(there)[0], signs))(params)
    return jax.tree.map(jnp.multiply, signs, product), state
