"""AdamW that keeps the token table at its initial value, so that no geometry can arise in it."""

import functools
from typing import Any

import jax
import optax

from el_jax.training.optimizers.adamw import adamw

TABLE = "tok_emb"


@functools.wraps(adamw, assigned=("__annotations__",))  # its numbers are declared there
def adamw_frozen_table(*schedule: Any, **numbers: Any) -> optax.GradientTransformation:
    """AdamW on all parameters but the token table, which stays (the paper's associative control).

    Args:
        schedule: the learning rate, as for :func:`adamw`.
        numbers: the numbers of :func:`adamw`.

    Raises:
        ValueError: the model has no token table.
    """
    inner = adamw(*schedule, **numbers)

    def update(
        grads: optax.Updates, state: optax.OptState, params: optax.Params | None = None
    ) -> tuple[optax.Updates, optax.OptState]:
        changes, state = inner.update(grads, state, params)
        if TABLE not in changes:
            raise ValueError("adamw_frozen_table: needs a model with a token table")
        return {**changes, TABLE: jax.tree.map(lambda leaf: 0.0 * leaf, changes[TABLE])}, state

    return optax.GradientTransformation(inner.init, update)
