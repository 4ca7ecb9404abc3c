"""A token loss whose groups are weighted by what their losses have been."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.training.moments import moments_by_group, single
from el_jax.training.objectives.heads import Numbers
from el_jax.training.objectives.next_token import NextToken
from el_jax.training.objectives.objective import Metrics, Wrapper
from el_jax.types import Batch, Key, Params


@dataclass(frozen=True)
class ByGroup(Wrapper):
    """The weighted sum of the mean losses of an update's groups; metrics also have ``weight``.

    Attributes:
        base: the next-token objective whose token losses are weighted.
        weigh: a weighting of groups, from ``GROUP_WEIGHTINGS``.
    """

    base: NextToken
    weigh: Callable[[Array, Array, Array], tuple[Array, Array]]

    def first_memory(self) -> Array:
        """See ``Objective``."""
        return jnp.zeros(len(self.task.group_names))

    def loss(
        self, params: Params, batch: Batch, memory: Array, numbers: Numbers, key: Key | None
    ) -> tuple[Array, tuple[Metrics, Array]]:
        """The weighted sum (nats); the memory is one number a group, ``[G]``."""
        outputs = self.head.outputs(params, batch, key)
        losses = self.head.loss(outputs, batch, numbers)
        groups = moments_by_group(losses, batch.groups, batch.mask, len(memory))
        seen = jax.lax.stop_gradient((groups.mean, groups.num > 0, memory))
        weights, memory = self.weigh(*seen)
        metrics = self.base.measure(outputs, batch, numbers) | {"weight": single(weights)}
        return (weights * groups.mean).sum(), (metrics, memory)
