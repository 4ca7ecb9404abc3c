"""An objective over several devices; the compiler adds the messages between them."""

from dataclasses import dataclass
from typing import Any

import jax
from jax import Array
from jax.sharding import PartitionSpec

from el_jax.models import GatherOnUse
from el_jax.training.objectives.heads import Numbers
from el_jax.training.objectives.objective import Metrics, Wrapper
from el_jax.types import Batch, Key, Params


@dataclass(frozen=True)
class Sharded(Wrapper):
    """An objective of whole batches and parameters that are sharded along the axis of data.

    Attributes:
        num_devices: along that axis.
        fsdp: parameters are sharded, and not windows alone.
    """

    num_devices: int
    fsdp: bool

    def batch_at(self, data: Any, step: Array, key: Key) -> Any:
        """The batch of one device, with its windows divided."""
        return self._divide(self.base.batch_at(data, step, key))

    def loss(
        self, params: Params, batch: Any, numbers: Numbers, key: Key | None
    ) -> tuple[Array, Any]:
        """The loss at whole parameters."""
        return self.base.loss(self._gathered(params), batch, numbers, key)

    def evaluate(self, params: Params, batch: Batch, numbers: Numbers) -> Metrics:
        """See ``Objective``."""
        return self.base.evaluate(self._gathered(params), self._divide(batch), numbers)

    def _divide(self, batch: Any) -> Any:
        def divide(leaf: Array) -> Array:
            if leaf.ndim == 0 or leaf.shape[0] % self.num_devices:
                return leaf
            return jax.lax.with_sharding_constraint(leaf, PartitionSpec("data"))

        return jax.tree.map(divide, batch)

    def _gathered(self, params: Params) -> Params:
        """Whole parameters, but for the layers', which are gathered where a layer reads them."""
        if not self.fsdp:
            return params

        def gather(path: Any, leaf: Array) -> Any:
            box = GatherOnUse(value=leaf)
            top = getattr(path[0], "key", None) if path else None  # a model may have one array
            return box if top in self.head.model.layers else box.unbox()

        return jax.tree_util.tree_map_with_path(gather, params)
