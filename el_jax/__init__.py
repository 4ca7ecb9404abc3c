"""el_jax: which solution does training pick among the many that fit next-token data?

Three tracks on shared rooms: equal learning, flatness, and linear next-token prediction.
"""

__version__ = "0.1.0"
