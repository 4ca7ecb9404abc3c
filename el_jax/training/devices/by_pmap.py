"""Functions of one device's arrays, on all devices, by ``jax.pmap``."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from el_jax.training.devices.on_devices import OnDevices


def by_pmap(
    function: Callable[..., Any],
    takes: Any,
    gives: Any,
    donate: tuple[int, ...],
    is_split: Callable[[Any], bool],
    devices: Sequence[jax.Device],
    axis_name: str,
) -> OnDevices:
    """A function of global arrays, which lie where ``Layout.place`` puts them.

    Args:
        function: of one device's arrays.
        takes: an ``Axis`` for each argument, or a tree of them for the arrays of a tree.
        gives: the same for its results.
        donate: indices of the arguments whose memory may be used for the result.
        is_split: tells for an ``Axis`` if it is split over the devices.
        devices: the devices.
        axis_name: name of the axis of devices.
    """

    def mapped_axis(axis: Any) -> int | None:
        return 0 if is_split(axis) else None

    def cut(axis: Any, tree: Any) -> Any:  # from [N, ...] to [devices, N / devices, ...]
        if not is_split(axis):
            return tree
        return jax.tree.map(lambda a: a.reshape(len(devices), -1, *a.shape[1:]), tree)

    def join(axis: Any, tree: Any) -> Any:
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), tree) if is_split(axis) else tree

    # pmap needs an argument that is split over the devices, even if all others are shared
    mapped = jax.pmap(
        lambda _, *args: function(*args),
        axis_name=axis_name,
        in_axes=(0, *jax.tree.map(mapped_axis, takes)),
        out_axes=jax.tree.map(mapped_axis, gives),
        devices=devices,
        donate_argnums=tuple(i + 1 for i in donate),
    )
    numbers = jnp.arange(len(devices))

    def call(*placed: Any) -> Any:
        parts = jax.tree.map(cut, takes, placed)
        for i in donate:  # a split argument was copied: pmap frees the copy, this the original
            jax.tree.map(lambda whole, part: part is whole or whole.delete(), placed[i], parts[i])
        return jax.tree.map(join, gives, mapped(numbers, *parts))

    def lower(*shapes: Any) -> jax.stages.Lowered:
        parts = jax.eval_shape(lambda *args: jax.tree.map(cut, takes, args), *shapes)
        return mapped.lower(jax.typeof(numbers), *parts)

    return OnDevices(call, lower)
