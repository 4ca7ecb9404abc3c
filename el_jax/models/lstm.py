"""A stack of LSTMs, from token ids to logits (Hochreiter & Schmidhuber 1997)."""

import dataclasses
from typing import cast

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

from el_jax.models.functions import everywhere, functions_of, logits_of
from el_jax.process.errors import require
from el_jax.types import Batch, Key, ModelFns, Params, Readout


@dataclasses.dataclass(frozen=True, kw_only=True)
class LSTMConfig:
    """A stack of LSTMs.

    Attributes:
        vocab_size: V, the number of token ids and of classes.
        width: D, the size of the embedding and of every hidden state.
        num_layers: N, at least one.
        dropout: rate on the output of every layer (Zaremba et al. 2014, arXiv 1409.2329); acts only
            where ``apply`` gets a key.
        tie_head: the head is the token table.
    """

    vocab_size: int
    width: int = 128
    num_layers: int = 2
    dropout: float = 0.0
    tie_head: bool = False

    def __post_init__(self) -> None:
        for name in ("vocab_size", "width", "num_layers"):
            require(name, getattr(self, name), getattr(self, name) >= 1, "a positive integer")
        require("dropout", self.dropout, 0 <= self.dropout < 1, "in [0, 1)")


def lstm(config: LSTMConfig) -> ModelFns:
    """The network of a configuration, as pure functions; it has no attention.

    States are zero at the first token of a window and of each of its documents.
    """
    module = LSTM(config)

    init, readout = functions_of(module, drops=config.dropout > 0)

    def apply(params: Params, batch: Batch, key: Key | None = None) -> Float[Array, "B P V"]:
        return logits_of(readout(params, batch, key))

    def features(params: Params, batch: Batch) -> Float[Array, "B T D"]:
        return readout(params, everywhere(batch)).hidden

    return ModelFns(init, apply, readout=readout, head_width=config.width, features=features)


class LSTM(nn.Module):
    """Token ids to the factors of the logits at the supervised positions."""

    config: LSTMConfig

    @nn.compact
    def __call__(self, batch: Batch, deterministic: bool = True) -> Readout:
        """The readout; dropout, unless ``deterministic``, draws from the stream "dropout"."""
        c = self.config
        normal = nn.initializers.normal(c.width**-0.5)
        table = self.param("tok_emb", normal, (c.vocab_size, c.width))
        hidden = table[batch.tokens]
        starts = document_edges(batch)
        for i in range(c.num_layers):
            hidden = scanned(hidden, starts, c.width, name=f"layers_{i}")
            hidden = nn.Dropout(c.dropout)(hidden, deterministic)
        hidden = jnp.take_along_axis(hidden, batch.supervised[..., None], axis=1)
        head = table.T if c.tie_head else self.param("head", normal, (c.width, c.vocab_size))
        return Readout(hidden, head, None)


def scanned(
    x: Float[Array, "B T in"],
    edges: Bool[Array, "B T"],
    width: int,
    *,
    name: str,
    reverse: bool = False,
) -> Float[Array, "B T {width}"]:
    """The hidden states of one LSTM, a submodule of the module that calls this.

    Args:
        x: inputs of all tokens.
        edges: True where the state is reset to zero, other than at the first token read.
        width: size of the hidden state.
        name: name of the submodule.
        reverse: read the last token first.
    """
    layer = nn.scan(
        _Cell,
        variable_broadcast="params",
        split_rngs={"params": False},
        in_axes=1,
        out_axes=1,
        reverse=reverse,
    )
    zero = jnp.zeros((len(x), width), x.dtype)
    _, states = layer(width, name=name)((zero, zero), (x, edges))
    return states


class _Cell(nn.Module):
    """One step of one layer, from a zero state where a document starts."""

    width: int

    @nn.compact
    def __call__(
        self, state: tuple[Array, Array], given: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], Array]:
        x, edge = given
        state = jax.tree.map(lambda leaf: jnp.where(edge[:, None], 0, leaf), state)
        return cast(tuple[tuple[Array, Array], Array], nn.OptimizedLSTMCell(self.width)(state, x))


def document_edges(batch: Batch, *, reverse: bool = False) -> Bool[Array, "B T"]:
    """True for the first token read of each document, except at the window's start."""
    if batch.documents is None:
        return jnp.zeros(batch.tokens.shape, bool)
    changes = batch.documents[:, 1:] != batch.documents[:, :-1]
    return jnp.pad(changes, ((0, 0), (0, 1) if reverse else (1, 0)))
