"""Sharpness-aware minimisation: descend along the gradient at a point uphill."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import ScalarLike

from el_jax.numbers import Number


def sam(
    learning_rate: optax.Schedule,
    *,
    rho: Annotated[ScalarLike, Number(0.05, above=0, symbol="ρ")],  # distance uphill
    momentum: Annotated[ScalarLike, Number(0.9, at_least=0, below=1)],
) -> optax.GradientTransformationExtraArgs:
    """SAM over heavy-ball gradient descent (Foret et al. 2021, arXiv 2010.01412)."""
    length = lambda g: optax.tree.norm(g) + 1e-12  # noqa: E731  # optax's normalize: NaN at 0
    uphill = optax.stateless(lambda g, _: optax.tree.scale(jnp.negative(rho) / length(g), g))
    both = optax.contrib.sam(optax.sgd(learning_rate, momentum=momentum), uphill, opaque_mode=True)

    def update(
        grads: Any, state: Any, params: Any = None, *, loss_of: Any, clip: Any = None, **_: Any
    ) -> Any:
        def slope(there: Any, _: Any) -> Any:
            found = jax.grad(loss_of, has_aux=True)(there)[0]
            return found if clip is None else clip(found)

        return both.update(grads, state, params, grad_fn=slope)

    return optax.GradientTransformationExtraArgs(both.init, update)
