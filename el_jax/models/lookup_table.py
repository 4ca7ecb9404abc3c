"""A table of logits for every context of a few tokens: no two contexts share a parameter."""

import dataclasses

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from el_jax.models.functions import check_tokens
from el_jax.process.errors import require
from el_jax.types import Batch, Key, ModelFns, Params

MAX_ROWS = 2**31 - 1  # rows are counted in 32-bit integers


@dataclasses.dataclass(frozen=True, kw_only=True)
class LookupTableConfig:
    """A lookup table.

    Attributes:
        vocab_size: V, the number of token ids and of classes.
        order: tokens per context, the last of them at the supervised position; the table has
            ``(V + 1) ** order`` rows of V logits.
    """

    vocab_size: int
    order: int = 1

    def __post_init__(self) -> None:
        require("vocab_size", self.vocab_size, self.vocab_size >= 1, "a positive integer")
        # check the number of digits first: (V + 1) ** order may be too long to compute
        fits = 1 <= self.order <= 31 and (self.vocab_size + 1) ** self.order <= MAX_ROWS
        allowed = f"at least 1, and small enough for {MAX_ROWS} contexts of {self.vocab_size} ids"
        require("order", self.order, fits, allowed)


def lookup_table(config: LookupTableConfig) -> ModelFns:
    """The table as pure functions; it starts at the uniform distribution.

    A context does not reach past the start of a window or document: a place before the start counts
    as one more token id.
    """
    num_rows = (config.vocab_size + 1) ** config.order

    def init(key: Key) -> Params:
        del key  # nothing is drawn: there is no symmetry to break
        return {"logits": jnp.zeros((num_rows, config.vocab_size))}

    def apply(params: Params, batch: Batch, key: Key | None = None) -> Float[Array, "B P V"]:
        del key
        check_tokens(batch.tokens, config.vocab_size)
        return params["logits"][_context(batch, config)]

    return ModelFns(init, apply)


def _context(batch: Batch, config: LookupTableConfig) -> Int[Array, "B P"]:
    """The row of each supervised position: its context as digits in base V + 1."""
    absent = config.vocab_size
    row = jnp.zeros(batch.supervised.shape, jnp.int32)
    for back in reversed(range(config.order)):
        place = batch.supervised - back
        token = _at(batch.tokens, place)
        inside = place >= 0
        if batch.documents is not None:
            inside &= _at(batch.documents, place) == _at(batch.documents, batch.supervised)
        row = row * (config.vocab_size + 1) + jnp.where(inside, token, absent)
    return row


def _at(values: Int[Array, "B T"], place: Int[Array, "B P"]) -> Int[Array, "B P"]:
    return jnp.take_along_axis(values, jnp.maximum(place, 0), axis=1)
