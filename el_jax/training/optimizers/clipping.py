"""A bound on the norm of the whole gradient."""

from typing import Annotated, Any

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

    An optimizer that computes another gradient gets ``clip``, a function of it, with its update.

    Args:
        optimizer: the optimizer.
        clip_norm: the largest norm; 0 for no bound.
    """
    if isinstance(clip_norm, int | float) and clip_norm == 0:
        return optimizer
    # runs of one program may differ: "no bound" is an infinite one
    bound = jnp.where(jnp.equal(clip_norm, 0), jnp.inf, clip_norm)
    limit = optax.clip_by_global_norm(bound)
    both = optax.with_extra_args_support(optax.chain(limit, optimizer))

    def clip(grads: Any) -> Any:
        return limit.update(grads, optax.EmptyState())[0]

    def update(grads: Any, state: Any, params: Any = None, **further: Any) -> Any:
        return both.update(grads, state, params, clip=clip, **further)

    return optax.GradientTransformationExtraArgs(both.init, update)
