"""The next token's loss: its mean over an update, and the metrics of every token."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Int

from el_jax.losses import cross_entropy, masked_sum_and_count
from el_jax.tasks import Task
from el_jax.training.moments import Moments, moments_by_group
from el_jax.training.objectives.heads import Head, Numbers
from el_jax.training.objectives.objective import Metrics
from el_jax.types import Batch, Key, Params
from el_jax.weighting import weighted_mean


@dataclass(frozen=True)
class NextToken:
    """Prediction of a task's labels under a token loss.

    Attributes:
        task: source of the batches; its answers are consecutive supervised tokens.
        head: the model and the loss.
        weigh: weights of windows by their mean losses, from ``WEIGHTINGS``; None for equal ones.
    """

    task: Task
    head: Head
    weigh: Callable[[Array], Array] | None = None

    def with_head(self, head: Head) -> "NextToken":
        """See ``Objective``."""
        return replace(self, head=head)

    def batch_at(self, data: Any, step: Array, key: Key) -> Batch:
        """See ``Objective``."""
        return self.task.batch_at(data, step, key)

    def first_memory(self) -> tuple[()]:
        """Nothing: updates do not depend on earlier losses."""
        return ()

    def loss(
        self, params: Params, batch: Batch, memory: Any, numbers: Numbers, key: Key | None
    ) -> tuple[Array, tuple[Metrics, Any]]:
        """See ``Objective``."""
        outputs = self.head.outputs(params, batch, key)
        losses = self.head.loss(outputs, batch, numbers)
        metrics = self.measure(outputs, batch, numbers)
        if self.weigh is not None:
            return weighted_mean(losses, batch.mask, self.weigh), (metrics, memory)
        total, count = masked_sum_and_count(losses, batch.mask)
        return total / jnp.maximum(count, 1.0), (metrics, memory)

    def pool_over_devices(self, metrics: Metrics) -> Metrics:
        """See ``Objective``."""
        return metrics

    def evaluate(self, params: Params, batch: Batch, numbers: Numbers) -> Metrics:
        """See ``Objective``."""
        return self.measure(self.head.outputs(params, batch), batch, numbers)

    def measure(self, outputs: Any, batch: Batch, numbers: Numbers) -> Metrics:
        """Moments of every per-token quantity, by group, each ``[num_groups]``.

        ``loss`` and ``ce`` in nats; ``margin`` is the label's logit minus the largest other one;
        ``gradient`` is the squared norm of the loss's gradient with respect to a token's logits
        (for cross-entropy ||p - onehot||^2); ``accuracy`` is 1 where the label alone has the
        largest logit; ``exact_match`` is 1 for an answer whose unmasked tokens are all right, in
        the group of its first token. Teacher-forced exact match equals that of greedy generation,
        by induction on the first error. Metrics have no gradient.
        """
        outputs = lax.stop_gradient(outputs)
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
        num_groups = len(self.task.group_names)
        by_group = {
            name: moments_by_group(values, batch.groups, batch.mask, num_groups)
            for name, values in per_token.items()
        }
        return by_group | {"exact_match": self._exact_match(correct, batch)}

    def _exact_match(self, correct: Bool[Array, "B P"], batch: Batch) -> Moments:
        def by_answer(values: Int[Array, "B P"] | Bool[Array, "B P"]) -> Array:
            return values.reshape(values.shape[0], -1, self.task.answer_length)

        right = by_answer(correct | ~batch.mask).all(-1)
        asked = by_answer(batch.mask).any(-1)
        groups, num_groups = by_answer(batch.groups)[:, :, 0], len(self.task.group_names)
        return moments_by_group(right.astype(jnp.float32), groups, asked, num_groups)
