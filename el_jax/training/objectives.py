"""What a training minimises, and what it reports of every token on the way."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from el_jax.losses import cross_entropy, masked_sum_and_count, token_stats
from el_jax.training.moments import Moments, moments_by_group
from el_jax.types import Batch, Key, ModelFns, Params

# (logits [B, P, V], labels [B, P], numeric parameters) -> per-token values [B, P]
TokenLoss = Callable[[Array, Array, dict[str, Array]], Array]


class Objective(NamedTuple):
    """Next-token training of a model under a token loss.

    Attributes:
        model: the network.
        token_loss: per-token loss of logits.
        num_groups: groups the task knows.
        answer_length: consecutive supervised tokens that form one answer, for exact match.
    """

    model: ModelFns
    token_loss: TokenLoss
    num_groups: int
    answer_length: int

    def loss(
        self,
        params: Params,
        batch: Batch,
        loss_params: dict[str, Array],
        key: Key | None,
        num_supervised: Float[Array, ""] | None = None,
    ) -> tuple[Array, Array]:
        """Mean loss over supervised tokens (nats) and the logits ``[B, P, V]``.

        Where ``batch`` is a part of an update, ``num_supervised`` is the number of tokens in all
        of it, so that the losses of the parts, and their gradients, add up to those of the whole.
        """
        logits = self.model.apply(params, batch, key)
        values = self.token_loss(logits, batch.labels, loss_params)
        total, count = masked_sum_and_count(values, batch.mask)
        count = count if num_supervised is None else num_supervised
        return total / jnp.maximum(count, 1.0), logits

    def measure(
        self, logits: Float[Array, "B P V"], batch: Batch, loss_params: dict[str, Array]
    ) -> dict[str, Moments]:
        """Moments of every per-token quantity, by group, each ``[num_groups]``.

        ``loss`` and ``ce`` in nats; ``margin`` is the label's logit minus the largest other one;
        ``gradient`` is the squared norm of the loss's gradient with respect to a token's logits
        (for cross-entropy that is ||p - onehot||^2); ``accuracy`` is 1 where the label has the
        largest logit, alone; ``exact_match`` is 1 for an answer whose unmasked tokens are all
        right, in the group of its first token. Teacher-forced
        exact match equals that of greedy generation, by induction on the first error.
        """

        def summed(logits: Array) -> tuple[Array, Array]:
            values = self.token_loss(logits, batch.labels, loss_params)
            return values.sum(), values

        gradient, loss = jax.grad(summed, has_aux=True)(logits)
        stats = token_stats(logits, batch.labels)
        margin = stats.label_logit - stats.max_other
        correct = margin > 0
        per_token = {
            "loss": loss,
            "ce": cross_entropy(stats),
            "margin": margin,
            "gradient": jnp.square(gradient).sum(-1),
            "accuracy": correct.astype(jnp.float32),
        }
        by_group = {
            name: moments_by_group(values, batch.groups, batch.mask, self.num_groups)
            for name, values in per_token.items()
        }
        return by_group | {"exact_match": self._exact_match(correct, batch)}

    def _exact_match(self, correct: Bool[Array, "B P"], batch: Batch) -> Moments:
        def by_answer(values: Int[Array, "B P"] | Bool[Array, "B P"]) -> Array:
            return values.reshape(values.shape[0], -1, self.answer_length)

        right = by_answer(correct | ~batch.mask).all(-1)
        asked = by_answer(batch.mask).any(-1)
        groups = by_answer(batch.groups)[:, :, 0]
        return moments_by_group(right.astype(jnp.float32), groups, asked, self.num_groups)
