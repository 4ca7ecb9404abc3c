"""Sums that XLA computes wrongly on CPUs without our flag.

    python -m tests.process.canary

prints the names of those that are wrong in a new process.
"""

import jax
import jax.numpy as jnp
import numpy as np

import el_jax  # noqa: F401 (sets the flag)


def wrong_sums() -> tuple[str, ...]:
    """The sums that differ from exact arithmetic; empty if all are right."""
    signs = (np.arange(6 * 64 * 64) * 7919 % 5 - 2).reshape(6, 64, 64).astype(np.float32)
    rows = np.zeros((32_769, 3), np.float32)
    rows[:, 0] = np.arange(len(rows))

    def program(signs: jax.Array, rows: jax.Array) -> tuple[jax.Array, ...]:
        of_zeros = ((signs @ jnp.zeros((64, 64))) * signs).sum()
        of_ones = ((signs @ jnp.ones((64, 64))) * signs).sum(-1)
        of_rows = jax.vmap(lambda row: jnp.sum((jnp.eye(3) @ row) ** 2))(rows)
        return of_zeros, of_ones, of_rows

    found = jax.device_get(jax.jit(program)(signs, rows))
    exact = {
        "times zeros": np.float32(0),
        "times ones": signs.sum(-1) ** 2,
        "of rows": rows[:, 0] ** 2,
    }
    pairs = zip(exact.items(), found, strict=True)
    return tuple(name for (name, right), value in pairs if not np.array_equal(value, right))


if __name__ == "__main__":
    print(*wrong_sums(), sep=", ")
