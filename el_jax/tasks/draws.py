"""Random strings of letters, each drawn from a key of its own."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int, Key as KeyOf

from el_jax.types import Key


def string_keys(key: Key, num: int) -> KeyOf[Array, "S"]:
    """One key per string, so string ``i`` does not depend on the number of strings."""
    return jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(num))


def letters_of(key: Key, num: int, length: int, low: int, high: int) -> Int[Array, "S length"]:
    """Letters uniform in ``[low, high)``, one row per string."""
    return jax.vmap(lambda row: jax.random.randint(row, (length,), low, high, jnp.int32))(
        string_keys(key, num)
    )


def draw_distinct(key: Key, num: int, size: int) -> Int[Array, "num"]:
    """``num`` distinct numbers below ``size``, in random order.

    Takes ``num`` Fisher-Yates steps: on a CPU a tenth of the time of ``jax.random.permutation``,
    which sorts all ``size`` numbers.
    """
    picks = jax.random.randint(key, (num,), jnp.arange(num), size)

    def step(left: Array, chosen: tuple[Array, Array]) -> tuple[Array, Array]:
        first, pick = chosen
        return left.at[pick].set(left[first]), left[pick]

    numbers = jnp.arange(size, dtype=jnp.int32)
    return jax.lax.scan(step, numbers, (jnp.arange(num), picks))[1]
