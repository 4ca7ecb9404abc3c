"""A bound on the norm of the whole gradient."""

from typing import Annotated

import jax.numpy as jnp
import optax
from jaxtyping import ScalarLike

from el_jax.numbers import Number


def clipped(
    optimizer: optax.GradientTransformation,
    *,
    clip_norm: Annotated[ScalarLike, Number(0.0, at_least=0)],
) -> optax.GradientTransformation:
    """Clip an optimizer's gradient to global norm ``clip_norm``.

    Args:
        optimizer: the optimizer.
        clip_norm: the largest norm; 0 for no bound.
    """
    if isinstance(clip_norm, int | float):
        if clip_norm == 0:
            return optimizer
        return optax.chain(optax.clip_by_global_norm(clip_norm), optimizer)
    # runs of one program may differ: "no bound" is an infinite one
    bound = jnp.where(jnp.equal(clip_norm, 0), jnp.inf, clip_norm)
    return optax.chain(optax.clip_by_global_norm(bound), optimizer)
