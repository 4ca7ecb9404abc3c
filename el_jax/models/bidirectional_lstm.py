"""LSTMs that read a window both ways, between BERT's embeddings and its masked-LM head.

Source: Liu, Xie, Li, Ma 2023 (arXiv 2210.14199), their models for hidden Markov data, in the form
of their released code: each layer is ``x = ln2(x + [forward(ln1(x)), backward(ln1(x))])``, with two
LSTMs of D/2 units and concatenated states. Parameters are named as in ``transformer``, and in each
layer::

    layers_i / ln1, ln2 / scale, bias [D]
               forward, backward / OptimizedLSTMCell_0 / ii, if, ig, io / kernel [D, D/2]
                                           hi, hf, hg, ho / kernel [D/2, D/2], bias [D/2]
"""

import dataclasses
from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from el_jax.models.config import TransformerConfig
from el_jax.models.layers import Norm
from el_jax.models.lstm import document_edges, scanned
from el_jax.models.presets import BUDGET_BERT
from el_jax.models.transformer import Transformer, functions_of_stack, take_rows
from el_jax.process.errors import require
from el_jax.types import Batch, ModelFns


@dataclasses.dataclass(frozen=True, kw_only=True)
class BidirectionalLSTMConfig:
    """A stack of bidirectional LSTMs; the defaults are the paper's smallest.

    The paper's (width, layers) are (128, 4), (256, 6), (512, 8), (768, 12) and (1024, 16).

    Attributes:
        vocab_size: V, the number of token ids and of classes.
        width: D, the size of the residual stream; even.
        num_layers: N, at least one.
        max_length: number of positions in the table.
        dropout: rate after the embedding and on the LSTMs' addition to the stream; acts only where
            ``apply`` gets a key.
    """

    vocab_size: int
    width: int = 128
    num_layers: int = 4
    max_length: int = 512
    dropout: float = 0.1
    causal: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("vocab_size", "num_layers", "max_length"):
            require(name, getattr(self, name), getattr(self, name) >= 1, "a positive integer")
        even = self.width >= 2 and self.width % 2 == 0
        require("width", self.width, even, "even and positive, for two directions")
        require("dropout", self.dropout, 0 <= self.dropout < 1, "in [0, 1)")


def bidirectional_lstm(config: BidirectionalLSTMConfig) -> ModelFns:
    """The network of a configuration, as pure functions; it has no attention.

    Each direction starts from a zero state at its own end of the window and of each document.
    """
    around = dataclasses.replace(
        BUDGET_BERT,
        vocab_size=config.vocab_size,
        width=config.width,
        num_layers=config.num_layers,
        num_heads=1,  # there is no attention
        max_length=config.max_length,
        embedding_dropout=config.dropout,
        residual_dropout=config.dropout,
    )
    return functions_of_stack(_Stack(around))


class _Stack(Transformer):
    """LSTM layers with the transformer's embeddings and head."""

    def _layers(
        self, x: Float[Array, "rows D"], batch: Batch, deterministic: bool
    ) -> Float[Array, "supervised D"]:
        for i in range(self.config.num_layers):
            x = _Layer(self.config, name=f"layers_{i}")(x, batch, deterministic)
        return take_rows(x, batch.supervised)


class _Layer(nn.Module):
    """Two LSTMs around the residual stream."""

    config: TransformerConfig

    @nn.compact
    def __call__(
        self, x: Float[Array, "rows D"], batch: Batch, deterministic: bool
    ) -> Float[Array, "rows D"]:
        """The stream after the layer, at all tokens; padding is a document apart from all words."""
        c = self.config
        inputs = Norm(c, name="ln1")(x).reshape(*batch.tokens.shape, c.width)
        states = [
            scanned(inputs, document_edges(batch, reverse=r), c.width // 2, name=name, reverse=r)
            for name, r in (("forward", False), ("backward", True))
        ]
        read = jnp.concatenate(states, axis=-1).reshape(x.shape)
        read = nn.Dropout(c.residual_dropout)(read, deterministic)
        return Norm(c, name="ln2")(x + read)
