"""The training objective, as ``update`` sees it."""

from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

from jax import Array

from el_jax.tasks import Task
from el_jax.training.moments import Moments
from el_jax.training.objectives.heads import Head, Numbers
from el_jax.types import Batch, Key, Params

Metrics: TypeAlias = dict[str, Moments]
Learnt: TypeAlias = Any  # the data of an update: a Batch, or a Batch and more


@runtime_checkable
class Objective(Protocol):
    """Draws the batch of an update, computes its mean loss, and measures it."""

    @property
    def task(self) -> Task:
        """The task that provides the data."""

    @property
    def head(self) -> Head:
        """The model and the token loss."""

    def with_head(self, head: Head) -> "Objective":
        """The same objective with another head: model, token loss, or both."""

    def batch_at(self, data: Any, step: Array, key: Key) -> Learnt:
        """The batch of the update after ``step`` others; the key sets the order of the data."""

    def first_memory(self) -> Any:
        """The memory before the first update; () if it remembers nothing."""

    def loss(
        self, params: Params, batch: Learnt, memory: Any, numbers: Numbers, key: Key | None
    ) -> tuple[Array, tuple[Metrics, Any]]:
        """Mean loss over supervised tokens (nats), then the metrics and the next update's memory.

        The metrics are moments, each ``[num_groups]`` or, for the whole update, ``[]``; where
        windows are divided among devices, each device's are separate.

        Args:
            params: parameters of one run.
            batch: from ``batch_at``.
            memory: what the objective remembers of earlier updates.
            numbers: the loss's numbers.
            key: for dropout; None for no dropout.
        """

    def pool_over_devices(self, metrics: Metrics) -> Metrics:
        """Moments of all windows, from the separate ones of each device."""

    def evaluate(self, params: Params, batch: Batch, numbers: Numbers) -> Metrics:
        """Moments of the metrics on a split's windows, each ``[num_groups]``, without dropout."""


@dataclass(frozen=True)
class Wrapper:
    """Base class that passes every method on to another objective; subclasses change some.

    Attributes:
        base: the other objective.
    """

    base: Objective

    @property
    def task(self) -> Task:
        """See ``Objective``."""
        return self.base.task

    @property
    def head(self) -> Head:
        """See ``Objective``."""
        return self.base.head

    def with_head(self, head: Head) -> "Wrapper":
        """See ``Objective``."""
        return replace(self, base=self.base.with_head(head))

    def batch_at(self, data: Any, step: Array, key: Key) -> Learnt:
        """See ``Objective``."""
        return self.base.batch_at(data, step, key)

    def first_memory(self) -> Any:
        """See ``Objective``."""
        return self.base.first_memory()

    def loss(
        self, params: Params, batch: Learnt, memory: Any, numbers: Numbers, key: Key | None
    ) -> tuple[Array, tuple[Metrics, Any]]:
        """See ``Objective``."""
        return self.base.loss(params, batch, memory, numbers, key)

    def pool_over_devices(self, metrics: Metrics) -> Metrics:
        """See ``Objective``."""
        return self.base.pool_over_devices(metrics)

    def evaluate(self, params: Params, batch: Batch, numbers: Numbers) -> Metrics:
        """See ``Objective``."""
        return self.base.evaluate(params, batch, numbers)
