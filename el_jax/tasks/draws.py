"""Random strings of letters, each drawn from a key of its own."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int, Key as KeyOf

from el_jax.types import Key


def string_keys(key: Key, num: int) -> KeyOf[Array, "S"]:
    """One key per string, so that string ``i`` does not depend on the number of strings."""
    return jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(num))


def letters_of(key: Key, num: int, length: int, low: int, high: int) -> Int[Array, "S length"]:
    """Letters uniform in ``[low, high)``, one row per string."""
    return jax.vmap(lambda row: jax.random.randint(row, (length,), low, high, jnp.int32))(
        string_keys(key, num)
    )
