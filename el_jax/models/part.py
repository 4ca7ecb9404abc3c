"""A parameter of which this device has a part, made whole where a module reads it."""

from typing import Any

import flax.struct
import jax
from flax.core import meta
from jax import Array


class Part(flax.struct.PyTreeNode, meta.AxisMetadata[Array]):
    """A part of an array, in a box that flax opens in ``self.param``, that is, in the layer.

    So a layer that is computed again for the backward pass gathers again, and whole parameters
    exist for one layer at a time. The gradient of what was gathered is summed and scattered.

    Attributes:
        value: the part.
        axis: the axis that is split.
        devices: name of the mapped axis of devices.
    """

    value: Any
    axis: int = flax.struct.field(pytree_node=False)
    devices: str = flax.struct.field(pytree_node=False)

    def unbox(self) -> Array:
        """The whole array."""
        return jax.lax.all_gather(self.value, self.devices, axis=self.axis, tiled=True)

    def replace_boxed(self, val: Any) -> Any:
        """The same box around another part."""
        return self.replace(value=val)

    def add_axis(self, index: int, params: dict[Any, Any]) -> "Part":  # noqa: ARG002
        """The same part where a loop of flax has put an axis at ``index``."""
        return self.replace(axis=self.axis + (index <= self.axis))

    def remove_axis(self, index: int, params: dict[Any, Any]) -> "Part":  # noqa: ARG002
        """The same part where a loop of flax has taken the axis at ``index``."""
        return self.replace(axis=self.axis - (index < self.axis))
