"""A token loss whose groups are weighted by what their losses have been."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.training.moments import moments_by_group, single
from el_jax.training.objectives.heads import Numbers
from el_jax.training.objectives.objective import Metrics, Wrapper
from el_jax.types import Batch, Key, Params


class Recalled(NamedTuple):
    """A batch, and one remembered number a group, ``[G]``."""

    batch: Batch
    memory: Array


class Outputs(NamedTuple):
    """The head's outputs, and the groups' weights and memory after this update, ``[G]``."""

    head: Any
    weights: Array
    memory: Array


@dataclass(frozen=True)
class ByGroup(Wrapper):
    """The weighted sum of the mean losses of an update's groups; metrics also have ``weight``.

    Attributes:
        base: the next-token objective whose token losses are weighted.
        weigh: a weighting of groups, from ``GROUP_WEIGHTINGS``.
    """

    weigh: Callable[[Array, Array, Array], tuple[Array, Array]]

    def first_memory(self) -> Array:
        """See ``Objective``."""
        return jnp.zeros(len(self.task.group_names))

    def recall(self, batch: Batch, memory: Array) -> Recalled:
        """See ``Objective``."""
        return Recalled(batch, memory)

    def remember(self, outputs: Outputs) -> Array:
        """See ``Objective``."""
        return outputs.memory

    def loss(
        self, params: Params, batch: Recalled, numbers: Numbers, key: Key | None
    ) -> tuple[Array, Outputs]:
        """The weighted sum (nats), and the outputs."""
        windows, memory = batch
        outputs = self.head.outputs(params, windows, key)
        losses = self.head.loss(outputs, windows, numbers)
        groups = moments_by_group(losses, windows.groups, windows.mask, len(memory))
        seen = jax.lax.stop_gradient((groups.mean, groups.num > 0, memory))
        weights, memory = self.weigh(*seen)
        return (weights * groups.mean).sum(), Outputs(outputs, weights, memory)

    def measure(self, outputs: Outputs, batch: Recalled, numbers: Numbers) -> Metrics:
        """See ``Objective``."""
        measured = self.base.measure(outputs.head, batch.batch, numbers)
        return measured | {"weight": single(outputs.weights)}
