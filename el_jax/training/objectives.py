"""What a training minimises, and what it reports of every token on the way."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from el_jax.losses import (
    VOCAB_CHUNK,
    Path,
    SoftmaxMoments,
    TokenStats,
    cross_entropy,
    fused_stats_and_moments,
    fused_token_stats,
    masked_sum_and_count,
    squared_gradient_norm,
    token_stats,
)
from el_jax.training.moments import Moments, moments_by_group
from el_jax.types import Batch, Key, ModelFns, Params

# (statistics of the tokens, numeric parameters) -> per-token values [B, P]
TokenLoss = Callable[[TokenStats, dict[str, Array]], Array]


class FusedHead(NamedTuple):
    """How statistics are taken from a model's readout; see ``losses.fused_token_stats``.

    Attributes:
        path: which way.
        precision: of the products, that of the model.
        vocab_chunk: classes in a block.
        token_chunk: tokens in a block.
    """

    path: Path
    precision: str | None = None
    vocab_chunk: int = VOCAB_CHUNK
    token_chunk: int = 512


class FusedOutputs(NamedTuple):
    """What is known of the logits of all tokens where these were never formed.

    Attributes:
        scaled: statistics at the loss's temperature.
        moments: the softmax moments that go with them.
        stats: statistics of the logits as they are.
    """

    scaled: TokenStats
    moments: SoftmaxMoments
    stats: TokenStats


Outputs: TypeAlias = Float[Array, "B P V"] | FusedOutputs


class Objective(NamedTuple):
    """Next-token training of a model under a token loss.

    Attributes:
        model: the network.
        token_loss: per-token loss of statistics.
        num_groups: groups the task knows.
        answer_length: consecutive supervised tokens that form one answer, for exact match.
        temperature: the logits are divided by it before the loss sees them.
        fused: how to do without the logits ``[B, P, V]``; None goes through them.
    """

    model: ModelFns
    token_loss: TokenLoss
    num_groups: int
    answer_length: int
    temperature: float = 1.0
    fused: FusedHead | None = None

    def outputs(self, params: Params, batch: Batch, key: Key | None = None) -> Outputs:
        """What loss and metrics are functions of: logits or, if ``fused``, their statistics.

        Raises:
            ValueError: the objective is fused and the model has no readout.
        """
        if self.fused is None:
            return self.model.apply(params, batch, key)
        if self.model.readout is None:
            raise ValueError("fused: the model has no readout, its logits are no product")
        hidden, head, bias = self.model.readout(params, batch, key)
        options = self.fused._asdict()
        scaled, moments = fused_stats_and_moments(
            hidden, head, batch.labels, bias=bias, temperature=self.temperature, **options
        )
        stats = scaled
        if self.temperature != 1.0:
            stats = fused_token_stats(hidden, head, batch.labels, bias=bias, **options)
        return FusedOutputs(scaled, moments, stats)

    def loss(
        self,
        params: Params,
        batch: Batch,
        loss_params: dict[str, Array],
        key: Key | None,
        num_supervised: Float[Array, ""] | None = None,
    ) -> tuple[Array, Outputs]:
        """Mean loss over supervised tokens (nats) and the ``outputs`` it was computed from.

        Where ``batch`` is a part of an update, ``num_supervised`` is the number of tokens in all
        of it, so that the losses of the parts, and their gradients, add up to those of the whole.
        """
        outputs = self.outputs(params, batch, key)
        if isinstance(outputs, FusedOutputs):
            values = self.token_loss(outputs.scaled, loss_params)
        else:
            values = self._loss_of_logits(outputs, batch, loss_params)
        total, count = masked_sum_and_count(values, batch.mask)
        count = count if num_supervised is None else num_supervised
        return total / jnp.maximum(count, 1.0), outputs

    def measure(
        self, outputs: Outputs, batch: Batch, loss_params: dict[str, Array]
    ) -> dict[str, Moments]:
        """Moments of every per-token quantity, by group, each ``[num_groups]``.

        ``loss`` and ``ce`` in nats; ``margin`` is the label's logit minus the largest other one;
        ``gradient`` is the squared norm of the loss's gradient with respect to a token's logits
        (for cross-entropy that is ||p - onehot||^2); ``accuracy`` is 1 where the label has the
        largest logit, alone; ``exact_match`` is 1 for an answer whose unmasked tokens are all
        right, in the group of its first token. Teacher-forced
        exact match equals that of greedy generation, by induction on the first error.
        """
        if isinstance(outputs, FusedOutputs):
            loss, gradient = self._loss_and_gradient_of_stats(outputs, loss_params)
            stats = outputs.stats
        else:
            loss, gradient = self._loss_and_gradient_of_logits(outputs, batch, loss_params)
            stats = token_stats(outputs, batch.labels)
        margin = stats.label_logit - stats.max_other
        correct = margin > 0
        per_token = {
            "loss": loss,
            "ce": cross_entropy(stats),
            "margin": margin,
            "gradient": gradient,
            "accuracy": correct.astype(jnp.float32),
        }
        by_group = {
            name: moments_by_group(values, batch.groups, batch.mask, self.num_groups)
            for name, values in per_token.items()
        }
        return by_group | {"exact_match": self._exact_match(correct, batch)}

    def _loss_of_logits(self, logits: Array, batch: Batch, loss_params: dict[str, Array]) -> Array:
        stats = token_stats(logits, batch.labels, temperature=self.temperature)
        return self.token_loss(stats, loss_params)

    def _loss_and_gradient_of_logits(
        self, logits: Array, batch: Batch, loss_params: dict[str, Array]
    ) -> tuple[Array, Array]:
        def summed(logits: Array) -> tuple[Array, Array]:
            values = self._loss_of_logits(logits, batch, loss_params)
            return values.sum(), values

        gradient, loss = jax.grad(summed, has_aux=True)(logits)
        return loss, jnp.square(gradient).sum(-1)

    def _loss_and_gradient_of_stats(
        self, outputs: FusedOutputs, loss_params: dict[str, Array]
    ) -> tuple[Array, Array]:
        def token_loss(stats: TokenStats) -> Array:
            return self.token_loss(stats, loss_params)

        gradient = squared_gradient_norm(token_loss, outputs.scaled, outputs.moments)
        return token_loss(outputs.scaled), gradient / self.temperature**2

    def _exact_match(self, correct: Bool[Array, "B P"], batch: Batch) -> Moments:
        def by_answer(values: Int[Array, "B P"] | Bool[Array, "B P"]) -> Array:
            return values.reshape(values.shape[0], -1, self.answer_length)

        right = by_answer(correct | ~batch.mask).all(-1)
        asked = by_answer(batch.mask).any(-1)
        groups = by_answer(batch.groups)[:, :, 0]
        return moments_by_group(right.astype(jnp.float32), groups, asked, self.num_groups)
