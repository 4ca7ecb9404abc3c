"""el_jax: which solution does training pick among the many that fit next-token data?

Three tracks on shared rooms: equal learning, flatness, and linear next-token prediction.
"""

from el_jax.runtime import arithmetic as _arithmetic

__version__ = "0.1.0"

_arithmetic.select_right_sums()
