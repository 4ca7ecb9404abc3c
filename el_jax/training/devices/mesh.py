"""The mesh of a layout's devices: one axis, along which neighbours are near one another."""

from collections.abc import Sequence

import jax
from jax.experimental.mesh_utils import create_hybrid_device_mesh
from jax.sharding import AxisType, Mesh


def mesh_of(devices: Sequence[jax.Device], axis: str) -> Mesh:
    """A mesh with one axis; devices of several slices of TPUs are there slice by slice.

    Args:
        devices: as many from every slice.
        axis: name of the axis.
    """
    slices = {getattr(device, "slice_index", 0) for device in devices}
    if devices[0].platform != "tpu" or len(slices) == 1:
        return jax.make_mesh((len(devices),), (axis,), (AxisType.Auto,), devices=devices)
    # make_mesh takes all coordinates for those of one slice
    ordered = create_hybrid_device_mesh((len(devices) // len(slices),), (len(slices),), devices)
    return Mesh(ordered, (axis,), axis_types=(AxisType.Auto,))
