"""The last product of a network: hidden states and the head's matrix, summed in float32."""

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.types import Readout


def logits_of(readout: Readout, precision: str = "default") -> Float[Array, "B P V"]:
    """The logits of a readout's factors.

    Args:
        readout: the factors.
        precision: of the product, as in ``jnp.matmul``.
    """
    hidden, head, bias = readout
    logits = jnp.matmul(
        hidden.reshape(-1, hidden.shape[-1]),
        head,
        precision=precision,
        preferred_element_type=jnp.promote_types(head.dtype, jnp.float32),
    )
    if bias is not None:
        logits = logits + bias[None]
    return logits.reshape(*hidden.shape[:2], -1)
