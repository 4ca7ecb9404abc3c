"""A training over many devices by ``jax.pmap`` in place of ``jax.jit``: see ``Layout.method``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from el_jax.training.objectives import Metrics, Wrapper
from el_jax.training.objectives.heads import Numbers
from el_jax.training.objectives.sharded import own_windows, pooled
from el_jax.types import Batch, Key, Params

_AXIS = "devices"


def by_pmap(
    function: Callable[..., Any],
    takes: Any,
    gives: Any,
    donate: tuple[int, ...],
    divides: Callable[[Any], bool],
    devices: Sequence[jax.Device],
) -> tuple[Callable[..., Any], Callable[..., jax.stages.Lowered]]:
    """A function of global arrays and its ``lower``; see ``Layout.compile``."""

    def mapped(axes: Any) -> Any:
        return jax.tree.map(lambda axis: 0 if divides(axis) else None, axes)

    def cut(axis: Any, tree: Any) -> Any:  # from [N, ...] to [devices, N / devices, ...]
        split = divides(axis)
        return jax.tree.map(
            lambda a: a.reshape(len(devices), -1, *a.shape[1:]) if split else a, tree
        )

    def join(axis: Any, tree: Any) -> Any:
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), tree) if divides(axis) else tree

    # pmap needs an argument that is split over the devices, even if all others are shared
    on_all = jax.pmap(
        lambda _, *args: function(*args),
        axis_name=_AXIS,
        in_axes=(0, *mapped(takes)),
        out_axes=mapped(gives),
        devices=devices,
        donate_argnums=tuple(i + 1 for i in donate),
    )
    numbers = jnp.arange(len(devices))

    def call(*placed: Any) -> Any:
        parts = jax.tree.map(cut, takes, placed)
        for i in donate:  # a split argument was copied: pmap frees the copy, we the original
            jax.tree.map(lambda whole, part: part is whole or whole.delete(), placed[i], parts[i])
        return jax.tree.map(join, gives, on_all(numbers, *parts))

    def lower(*shapes: Any) -> jax.stages.Lowered:
        parts = jax.eval_shape(lambda *args: jax.tree.map(cut, takes, args), *shapes)
        return on_all.lower(jax.typeof(numbers), *parts)

    return call, lower


@dataclass(frozen=True)
class Pooled(Wrapper):
    """An objective that each device computes on its own windows, as ``Sharded`` does under jit."""

    def loss(
        self, params: Params, batch: Batch, memory: Any, numbers: Numbers, key: Key | None
    ) -> tuple[Array, tuple[Metrics, Any]]:
        """Mean loss over the supervised tokens of all devices; the metrics of this device."""
        windows, share = own_windows(batch, _AXIS)
        own = None if key is None else jax.random.fold_in(key, jax.lax.axis_index(_AXIS))
        summed = _gradient_summed(params)
        mean, (metrics, memory) = self.base.loss(summed, windows, memory, numbers, own)
        # The transpose of a sum over devices is such a sum, so differentiate this part alone.
        mine = share * mean
        loss = mine + jax.lax.stop_gradient(jax.lax.psum(mine, _AXIS) - mine)
        return loss, (metrics, memory)

    def pool_over_devices(self, metrics: Metrics) -> Metrics:
        """Moments of the windows of all devices."""
        return pooled(metrics, _AXIS)

    def evaluate(self, params: Params, batch: Batch, numbers: Numbers) -> Metrics:
        """Moments of the windows of all devices."""
        return pooled(self.base.evaluate(params, batch, numbers), _AXIS)


@jax.custom_vjp
def _gradient_summed(params: Params) -> Params:
    """The same parameters; their gradient is summed over the devices."""
    return params


@jax.custom_vjp
def _summed(gradient: Params) -> Params:
    """The sum over devices; differentiated again, the result counts once and not on each device."""
    return jax.lax.psum(gradient, _AXIS)


# Forward rules call their own function, since it is these that are differentiated a second time.
_summed.defvjp(lambda gradient: (_summed(gradient), None), lambda _, of_sum: (of_sum,))
_gradient_summed.defvjp(
    lambda params: (_gradient_summed(params), None), lambda _, gradient: (_summed(gradient),)
)
