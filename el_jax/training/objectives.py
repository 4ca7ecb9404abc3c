"""A training's objective: the mean loss of an update, and the metrics of every token."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from el_jax.losses import cross_entropy, masked_sum_and_count
from el_jax.training.heads import Head, Numbers
from el_jax.training.moments import Moments, moments_by_group
from el_jax.types import Batch, Key, Params


class Objective(NamedTuple):
    """Prediction of a batch's labels under a token loss.

    Attributes:
        head: the model and the loss.
        num_groups: number of the task's groups.
        answer_length: consecutive supervised tokens that form one answer, for exact match.
    """

    head: Head
    num_groups: int
    answer_length: int

    def outputs(self, params: Params, batch: Batch, key: Key | None = None) -> Any:
        """The head's outputs, from which loss and metrics follow: logits or their statistics."""
        return self.head.outputs(params, batch, key)

    def loss(
        self,
        params: Params,
        batch: Batch,
        numbers: Numbers,
        key: Key | None,
        num_supervised: Float[Array, ""] | None = None,
    ) -> tuple[Array, Any]:
        """Mean loss over supervised tokens (nats) and the ``outputs`` it was computed from.

        If ``batch`` is a part of an update, ``num_supervised`` is the number of supervised tokens
        in the whole update; losses and gradients of the parts then add up to those of the whole.
        """
        outputs = self.outputs(params, batch, key)
        total, count = masked_sum_and_count(self.head.loss(outputs, batch, numbers), batch.mask)
        count = count if num_supervised is None else num_supervised
        return total / jnp.maximum(count, 1.0), outputs

    def measure(self, outputs: Any, batch: Batch, numbers: Numbers) -> dict[str, Moments]:
        """Moments of every per-token quantity, by group, each ``[num_groups]``.

        ``loss`` and ``ce`` in nats; ``margin`` is the label's logit minus the largest other one;
        ``gradient`` is the squared norm of the loss's gradient with respect to a token's logits
        (for cross-entropy that is ||p - onehot||^2); ``accuracy`` is 1 where the label has the
        largest logit, alone; ``exact_match`` is 1 for an answer whose unmasked tokens are all
        right, in the group of its first token. Teacher-forced
        exact match equals that of greedy generation, by induction on the first error.
        """
        stats = self.head.stats(outputs, batch)
        margin = stats.label_logit - stats.max_other
        correct = margin > 0
        per_token = {
            "loss": self.head.loss(outputs, batch, numbers),
            "ce": cross_entropy(stats),
            "margin": margin,
            "gradient": self.head.gradient_norm(outputs, batch, numbers),
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
