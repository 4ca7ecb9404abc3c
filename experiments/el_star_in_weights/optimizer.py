"""AdamW that leaves the token table as it was drawn, so that no geometry can arise in it.

Importing this module makes the optimizer known, for ``config.imports``.
"""

from typing import Annotated

import jax
import optax
from jaxtyping import ScalarLike

from el_jax.parameters import Number
from el_jax.training.optimizers import OPTIMIZERS
from el_jax.training.optimizers.adamw import adamw

TABLE = "tok_emb"


def adamw_frozen_table(
    learning_rate: optax.Schedule,
    *,
    b1: Annotated[ScalarLike, Number(0.9, at_least=0, below=1, symbol="β₁")],
    b2: Annotated[ScalarLike, Number(0.999, at_least=0, below=1, symbol="β₂")],
    epsilon: Annotated[ScalarLike, Number(1e-8, above=0, symbol="ε")],
    weight_decay: Annotated[ScalarLike, Number(0.0, at_least=0, symbol="wd")],
) -> optax.GradientTransformation:
    """AdamW of all parameters but the token table, which stays (the paper's associative control).

    Args:
        learning_rate: function of the number of earlier updates.
        b1: decay of the first moment.
        b2: decay of the second moment.
        epsilon: added to the root of the second moment.
        weight_decay: decoupled decay of matrices, never of biases or norms.

    Raises:
        ValueError: the model has no token table.
    """
    inner = adamw(learning_rate, b1=b1, b2=b2, epsilon=epsilon, weight_decay=weight_decay)

    def update(
        grads: optax.Updates, state: optax.OptState, params: optax.Params | None = None
    ) -> tuple[optax.Updates, optax.OptState]:
        changes, state = inner.update(grads, state, params)
        if TABLE not in changes:
            raise ValueError("adamw_frozen_table: needs a model with a token table")
        return {**changes, TABLE: jax.tree.map(lambda leaf: 0.0 * leaf, changes[TABLE])}, state

    return optax.GradientTransformation(inner.init, update)


OPTIMIZERS["adamw_frozen_table"] = adamw_frozen_table
