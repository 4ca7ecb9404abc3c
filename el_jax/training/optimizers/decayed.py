"""The parameters that weight decay acts on."""

from typing import Any

import jax
import optax


def is_matrix(params: optax.Params) -> optax.Params:
    """True for matrices and tables; False for biases, even for those with one row per head."""

    def decays(path: tuple[Any, ...], leaf: jax.Array) -> bool:
        return leaf.ndim >= 2 and jax.tree_util.keystr(path[-1:], simple=True) != "bias"

    return jax.tree_util.tree_map_with_path(decays, params)
