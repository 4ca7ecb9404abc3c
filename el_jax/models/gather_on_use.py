"""A parameter that is sharded over devices, gathered where a module reads it."""

from typing import Any

import flax.struct
import jax
from flax.core import meta
from jax import Array
from jax.sharding import PartitionSpec


class GatherOnUse(flax.struct.PyTreeNode, meta.AxisMetadata[Array]):
    """An array in a box that flax opens in ``self.param``, that is, in the layer.

    So a layer that is computed again for the backward pass gathers again, and whole parameters
    exist for one layer at a time.
    """

    value: Any

    def unbox(self) -> Array:
        """The array, whole on every device of the mesh of the context."""
        return jax.lax.with_sharding_constraint(self.value, PartitionSpec())

    def replace_boxed(self, val: Any) -> Any:
        """The same box around another array."""
        return self.replace(value=val)

    def add_axis(self, index: int, params: dict[Any, Any]) -> "GatherOnUse":  # noqa: ARG002
        """The same box where a loop of flax has put an axis at ``index``."""
        return self

    def remove_axis(self, index: int, params: dict[Any, Any]) -> "GatherOnUse":  # noqa: ARG002
        """The same box where a loop of flax has taken the axis at ``index``."""
        return self
