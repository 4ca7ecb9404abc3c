"""The objective of a training, as ``update`` sees it."""

from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

from jax import Array

from el_jax.tasks import Task
from el_jax.training.moments import Moments
from el_jax.training.objectives.heads import Head, Numbers
from el_jax.types import Batch, Key, Params

Metrics: TypeAlias = dict[str, Moments]
Learnt: TypeAlias = Any  # what an update reads: a Batch, or more beside it


@runtime_checkable
class Objective(Protocol):
    """Draws the batch of an update, gives its mean loss, and measures it."""

    @property
    def task(self) -> Task:
        """The task whose data are read."""

    @property
    def head(self) -> Head:
        """The model and the token loss."""

    def with_head(self, head: Head) -> "Objective":
        """The same objective with another head: model, token loss, or both."""

    def batch_at(self, data: Any, step: Array, key: Key) -> Learnt:
        """The batch of the update after ``step`` others; the key gives the order of the data."""

    def loss(
        self, params: Params, batch: Learnt, numbers: Numbers, key: Key | None
    ) -> tuple[Array, Any]:
        """Mean loss over supervised tokens (nats), and outputs to measure; a key for dropout."""

    def measure(self, outputs: Any, batch: Learnt, numbers: Numbers) -> Metrics:
        """Moments of the metrics, each ``[num_groups]`` or, of the whole update, ``[]``.

        Where windows are divided among devices, those of each device are apart.
        """

    def pool_over_devices(self, metrics: Metrics) -> Metrics:
        """Moments of all windows, from those that are apart."""

    def evaluate(self, params: Params, batch: Batch, numbers: Numbers) -> Metrics:
        """Moments of the metrics of a split's windows, each ``[num_groups]``, without dropout."""


@dataclass(frozen=True)
class Wrapper:
    """Another objective, of which a subclass changes some methods.

    Attributes:
        base: that objective.
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

    def loss(
        self, params: Params, batch: Learnt, numbers: Numbers, key: Key | None
    ) -> tuple[Array, Any]:
        """See ``Objective``."""
        return self.base.loss(params, batch, numbers, key)

    def measure(self, outputs: Any, batch: Learnt, numbers: Numbers) -> Metrics:
        """See ``Objective``."""
        return self.base.measure(outputs, batch, numbers)

    def pool_over_devices(self, metrics: Metrics) -> Metrics:
        """See ``Objective``."""
        return self.base.pool_over_devices(metrics)

    def evaluate(self, params: Params, batch: Batch, numbers: Numbers) -> Metrics:
        """See ``Objective``."""
        return self.base.evaluate(params, batch, numbers)
