"""Two ways from a model to per-token losses: through the logits, or without forming them."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

from el_jax.losses import (
    VOCAB_CHUNK,
    Path,
    SoftmaxMoments,
    TokenStats,
    fused_stats_and_moments,
    squared_gradient_norm,
    token_stats,
)
from el_jax.types import Batch, Key, ModelFns, Params

PerToken: TypeAlias = Float[Array, "B P"]
Numbers: TypeAlias = dict[str, Array]  # the loss's numbers, such as λ; they may differ by run
SweptLoss = Callable[[TokenStats, Numbers, Bool[Array, "B P"]], PerToken]


@runtime_checkable
class Head(Protocol):
    """The last step of a model under a token loss; its other methods take its ``outputs``."""

    @property
    def model(self) -> ModelFns:
        """The network."""

    @property
    def temperature(self) -> float:
        """The logits are divided by it before the loss sees them."""

    def outputs(self, params: Params, batch: Batch, key: Key | None = None) -> Any:
        """The logits at the supervised positions, or statistics of them."""

    def stats(self, outputs: Any, batch: Batch) -> TokenStats:
        """Statistics of the logits before their division by the loss's temperature."""

    def loss(self, outputs: Any, batch: Batch, numbers: Numbers) -> PerToken:
        """The loss of each token, nats."""

    def gradient_norm(self, outputs: Any, batch: Batch, numbers: Numbers) -> PerToken:
        """Squared norm of the gradient of each token's loss with respect to its logits."""


class LogitHead(NamedTuple):
    """A head that forms the logits ``[B, P, V]``.

    Attributes:
        model: the network.
        token_loss: per-token loss, a function of ``TokenStats``, its numbers and the mask.
        temperature: divisor of the logits under the loss.
    """

    model: ModelFns
    token_loss: SweptLoss
    temperature: float = 1.0

    def outputs(self, params: Params, batch: Batch, key: Key | None = None) -> Array:
        """The logits."""
        return self.model.apply(params, batch, key)

    def stats(self, outputs: Array, batch: Batch) -> TokenStats:
        """See ``Head``."""
        return token_stats(outputs, batch.labels)

    def loss(self, outputs: Array, batch: Batch, numbers: Numbers) -> PerToken:
        """See ``Head``."""
        scaled = token_stats(outputs, batch.labels, temperature=self.temperature)
        return self.token_loss(scaled, numbers, batch.mask)

    def gradient_norm(self, outputs: Array, batch: Batch, numbers: Numbers) -> PerToken:
        """See ``Head``."""
        # different tokens share no logits, so the gradient of the summed losses contains each
        # token's gradient (of a batch loss: of all values that the token's logits enter)
        gradient = jax.grad(lambda logits: self.loss(logits, batch, numbers).sum())(outputs)
        return jnp.square(gradient).sum(-1)


class FusedOutputs(NamedTuple):
    """Statistics of logits that were never formed.

    Attributes:
        scaled: statistics of the logits divided by the loss's temperature.
        moments: softmax moments of these divided logits.
        stats: statistics of the logits themselves.
    """

    scaled: TokenStats
    moments: SoftmaxMoments
    stats: TokenStats


class FusedHead(NamedTuple):
    """A head that takes statistics from a model's readout, block by block.

    See ``losses.fused_stats_and_moments`` for the computation.

    Attributes:
        model: the network; must have a readout.
        token_loss: per-token loss, a function of ``TokenStats``, its numbers and the mask.
        temperature: divisor of the logits under the loss.
        path: implementation of the statistics.
        precision: precision of the matrix products, the same as in the model.
        vocab_chunk: classes in a block.
    """

    model: ModelFns
    token_loss: SweptLoss
    temperature: float = 1.0
    path: Path = "chunked"
    precision: str | None = None
    vocab_chunk: int = VOCAB_CHUNK

    def outputs(self, params: Params, batch: Batch, key: Key | None = None) -> FusedOutputs:
        """Statistics of the logits."""
        assert self.model.readout is not None  # build gives other models a LogitHead
        hidden, head, bias = self.model.readout(params, batch, key)
        options: dict[str, Any] = {
            "path": self.path,
            "precision": self.precision,
            "vocab_chunk": self.vocab_chunk,
        }
        scaled, moments = fused_stats_and_moments(
            hidden, head, batch.labels, bias=bias, temperature=self.temperature, **options
        )
        stats = scaled
        if self.temperature != 1.0:
            stats, _ = fused_stats_and_moments(hidden, head, batch.labels, bias=bias, **options)
        return FusedOutputs(scaled, moments, stats)

    def stats(self, outputs: FusedOutputs, batch: Batch) -> TokenStats:
        """See ``Head``."""
        del batch
        return outputs.stats

    def loss(self, outputs: FusedOutputs, batch: Batch, numbers: Numbers) -> PerToken:
        """See ``Head``."""
        return self.token_loss(outputs.scaled, numbers, batch.mask)

    def gradient_norm(self, outputs: FusedOutputs, batch: Batch, numbers: Numbers) -> PerToken:
        """See ``Head``."""
        squared = squared_gradient_norm(
            lambda stats: self.token_loss(stats, numbers, batch.mask),
            outputs.scaled,
            outputs.moments,
        )
        return squared / self.temperature**2  # d(logits / temperature) / d(logits), squared
