"""Turn a flax module into pure functions, and its readout into logits."""

from collections.abc import Callable
from typing import cast

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int

from el_jax.models.wide_products import wide_einsum
from el_jax.types import Batch, Key, Params, Readout


def functions_of(
    module: nn.Module, *, drops: bool
) -> tuple[Callable[[Key], Params], Callable[..., Readout]]:
    """``init(key)`` and ``readout(params, batch, key=None)`` of a module, as in ``ModelFns``.

    Args:
        module: maps a batch to a readout; takes ``deterministic``.
        drops: True if dropout makes the readout depend on its key.
    """

    def init(key: Key) -> Params:
        one = jnp.zeros((1, 1), jnp.int32)
        batch = Batch(tokens=one, supervised=one, labels=one, mask=one == 0, groups=one)
        return module.init(key, batch)["params"]

    def readout(params: Params, batch: Batch, key: Key | None = None) -> Readout:
        check_tokens(batch.tokens, module.config.vocab_size)
        rngs = {"dropout": key} if key is not None and drops else None
        factors = module.apply({"params": params}, batch, deterministic=rngs is None, rngs=rngs)
        return cast(Readout, factors)

    return init, readout


def check_tokens(tokens: Int[Array | np.ndarray, "B T"], vocab_size: int) -> None:
    """Raise for ids outside the token table, which indexing would replace silently.

    Ids that are traced, or partly on other machines, have no values here and are not checked.

    Raises:
        ValueError: names the id and the allowed ones.
    """
    if isinstance(tokens, jax.core.Tracer) or not getattr(tokens, "is_fully_addressable", True):
        return
    ids = np.asarray(tokens)
    wrong = ids[(ids < 0) | (ids >= vocab_size)]
    if wrong.size:
        raise ValueError(f"token id {wrong[0]}: must be in 0 .. {vocab_size - 1}, the vocabulary")


def everywhere(batch: Batch) -> Batch:
    """The batch with every token of its windows supervised; labels, mask and groups stay."""
    places = jnp.arange(batch.tokens.shape[1], dtype=jnp.int32)
    return batch._replace(supervised=jnp.broadcast_to(places, batch.tokens.shape))


def logits_of(readout: Readout, precision: str = "default") -> Float[Array, "B P V"]:
    """The logits from a readout's factors.

    Args:
        readout: the factors.
        precision: precision of the product, as in ``jnp.matmul``.
    """
    hidden, head, bias = readout
    logits = wide_einsum("re,ev->rv", hidden.reshape(-1, hidden.shape[-1]), head, precision)
    if bias is not None:
        logits = logits + bias[None]
    return logits.reshape(*hidden.shape[:2], -1)
