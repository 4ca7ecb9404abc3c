"""FSDP: parameters are sharded across devices and gathered where they are used.

Fully sharded data parallelism, or the third stage of ZeRO (Rajbhandari et al. 2020, arXiv
1910.02054). Losses and gradients are mapped over the devices, so that messages are those written
here; what follows them, optimizer and policy, the compiler partitions as a program of whole arrays.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from el_jax.models import Part
from el_jax.training.moments import pool_tree
from el_jax.types import Batch, Key

Loss = Callable[..., Any]  # of (params, batch, ...)
Within = Callable[[Loss], Loss]
Gradient = Callable[..., Any]


@dataclass(frozen=True)
class Parts:
    """The split of one run over the devices of a mesh.

    Attributes:
        mesh: devices, along one axis.
        layers: names of the parameters' subtrees that a model takes in parts, see ``ModelFns``.
    """

    mesh: Mesh
    layers: tuple[str, ...] = ()

    def spec(self, shape: tuple[int, ...]) -> PartitionSpec:
        """The split of a run's array: its longest axis that the devices divide; whole without."""
        divided = [side if side % self.mesh.size == 0 else 0 for side in shape]
        if not any(divided):
            return PartitionSpec()
        return PartitionSpec(*(None,) * divided.index(max(divided)), *self.mesh.axis_names)

    def spec_of_runs(self, shape: tuple[int, ...]) -> PartitionSpec:
        """The same for an array of all runs, ``[R, ...]``."""
        spec = self.spec(shape[1:])
        return PartitionSpec(None, *spec) if spec else spec

    def sum_over_windows(self, gradient_of: Callable[[Within], Gradient]) -> Gradient:
        """The gradient of windows that are divided among the devices, in parts like its parameters.

        Args:
            gradient_of: from a wrapper of a loss to its gradient, see ``Layout.sum_over_windows``.
        """

        def summed(params: Any, batch: Batch, hypers: Any, key: Key) -> Any:
            split = jax.tree.map(lambda leaf: self.spec(leaf.shape), params)

            def here(params: Any, batch: Batch, hypers: Any, key: Key, num: Array) -> Any:
                def within(loss: Loss) -> Loss:
                    return lambda params, *args: loss(self._gather(params, split), *args)

                gradient = gradient_of(within)
                own = jax.random.fold_in(key, jax.lax.axis_index(self._axis))  # own dropout mask
                (loss, grads), moments = gradient(params, batch, hypers, own, num)
                # the gradient of a gathered parameter has been summed and scattered
                grads = jax.tree.map(
                    lambda grad, spec: grad if spec else jax.lax.psum(grad, self._axis),
                    grads,
                    split,
                )
                return (jax.lax.psum(loss, self._axis), grads), self._pooled(moments)

            nowhere, windows = PartitionSpec(), PartitionSpec(self._axis)
            mapped = jax.shard_map(
                here,
                mesh=self.mesh,
                in_specs=(split, windows, nowhere, nowhere, nowhere),
                out_specs=((nowhere, split), nowhere),
                check_vma=False,  # gradients are summed where the code says so
            )
            return mapped(params, batch, hypers, key, batch.mask.sum(dtype=jnp.float32))

        return summed

    def over_windows(self, measure: Callable[..., Any]) -> Callable[..., Any]:
        """The pooled moments of windows that are divided among the devices.

        Args:
            measure: ``measure(params, batch, hypers)``, of whole parameters.
        """

        def pooled(params: Any, batch: Batch, hypers: Any) -> Any:
            split = jax.tree.map(lambda leaf: self.spec(leaf.shape), params)

            def here(params: Any, batch: Batch, hypers: Any) -> Any:
                return self._pooled(measure(self._gather(params, split), batch, hypers))

            return jax.shard_map(
                here,
                mesh=self.mesh,
                in_specs=(split, PartitionSpec(self._axis), PartitionSpec()),
                out_specs=PartitionSpec(),
                check_vma=False,
            )(params, batch, hypers)

        return pooled

    @property
    def _axis(self) -> str:
        (axis,) = self.mesh.axis_names
        return axis

    def _gather(self, params: Any, split: Any) -> Any:
        """Whole parameters, but for the layers', which gather them when they read them."""

        def gather(path: Any, leaf: Array, spec: PartitionSpec) -> Any:
            if not spec:
                return leaf
            part = Part(value=leaf, axis=len(spec) - 1, devices=self._axis)
            top = getattr(path[0], "key", None) if path else None  # a model may have one array
            return part if top in self.layers else part.unbox()

        return jax.tree_util.tree_map_with_path(gather, params, split)

    def _pooled(self, moments: Any) -> Any:
        return pool_tree(jax.lax.all_gather(moments, self._axis))


def placing(
    function: Callable[..., Any], gives: Any, place: Callable[[Any, tuple[int, ...]], Any]
) -> Callable[..., Any]:
    """A function of whole arrays that puts its results in their places.

    Args:
        function: the function.
        gives: the meaning of its results' first axes, as in ``Layout.over_devices``.
        place: from that meaning and the shape of an array to its sharding.
    """

    def put(axis: Any, tree: Any) -> Any:
        return jax.tree.map(
            lambda leaf: jax.lax.with_sharding_constraint(leaf, place(axis, leaf.shape)), tree
        )

    return lambda *args: jax.tree.map(put, gives, function(*args))
