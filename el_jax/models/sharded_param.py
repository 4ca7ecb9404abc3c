"""A parameter sharded over devices and gathered where a module reads it."""

from typing import Any

import flax.struct
import jax
from flax.core import meta
from jax import Array


class ShardedParam(flax.struct.PyTreeNode, meta.AxisMetadata[Array]):
    """A shard of an array, in a box that flax opens in ``self.param``, that is, in the layer.

    A layer recomputed for the backward pass therefore gathers again, and only one layer's whole
    parameters exist at a time. The gradient of the gathered array is summed and scattered.

    Attributes:
        value: the shard.
        axis: the sharded axis.
        devices: name of the mesh axis.
    """

    value: Any
    axis: int = flax.struct.field(pytree_node=False)
    devices: str = flax.struct.field(pytree_node=False)

    def unbox(self) -> Array:
        """The whole array."""
        return jax.lax.all_gather(self.value, self.devices, axis=self.axis, tiled=True)

    def replace_boxed(self, val: Any) -> Any:
        """The same box around another shard."""
        return self.replace(value=val)

    def add_axis(self, index: int, params: dict[Any, Any]) -> "ShardedParam":  # noqa: ARG002
        """The same shard after a flax loop has added an axis at ``index``."""
        return self.replace(axis=self.axis + (index <= self.axis))

    def remove_axis(self, index: int, params: dict[Any, Any]) -> "ShardedParam":  # noqa: ARG002
        """The same shard after a flax loop has removed the axis at ``index``."""
        return self.replace(axis=self.axis - (index < self.axis))
