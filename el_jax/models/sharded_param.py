"""A parameter of which this device has a shard, gathered where a module reads it."""

from typing import Any

import flax.struct
import jax
from flax.core import meta
from jax import Array


class ShardedParam(flax.struct.PyTreeNode, meta.AxisMetadata[Array]):
    """A shard of an array, in a box that flax opens in ``self.param``, that is, in the layer.

    So a layer that is computed again for the backward pass gathers again, and whole parameters
    exist for one layer at a time. The gradient of what was gathered is summed and scattered.

    Attributes:
        value: the shard.
        axis: the axis that is divided.
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
        """The same shard where a loop of flax has put an axis at ``index``."""
        return self.replace(axis=self.axis + (index <= self.axis))

    def remove_axis(self, index: int, params: dict[Any, Any]) -> "ShardedParam":  # noqa: ARG002
        """The same shard where a loop of flax has taken the axis at ``index``."""
        return self.replace(axis=self.axis - (index < self.axis))
