"""One training over many devices, by ``jit`` or by ``pmap``.

A training is written once, as functions of one device's arrays. ``Layout.over_devices`` compiles
them into functions of global arrays that run on every device:

* ``runs``: every device trains some of the runs. Runs share nothing, so nothing is sent.
* ``data``: every device has all runs and takes some windows of each update; gradients are summed.
* ``fsdp``: as ``data``, and every device keeps a part of each parameter and of the optimizer's
  numbers beside it; whole parameters exist while they are used. For models that do not fit one
  device; see ``parts``.
* ``none``: one device has everything.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import AxisType, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from el_jax.process import target
from el_jax.training.devices.by_pmap import by_pmap
from el_jax.training.devices.on_devices import OnDevices
from el_jax.training.devices.parts import Gradient, Parts, Within, placing
from el_jax.training.moments import Moments, pool_tree
from el_jax.types import Batch, Key

Method = Literal["jit", "pmap"]
Shard = Literal["auto", "runs", "data", "fsdp", "none"]  # "auto": see layout_choice
Axis = Literal["runs", "windows", "shared"]  # meaning of an array's leading axis

_DEVICES = "devices"  # the one axis of the mesh
_SPLIT: dict[Shard, Axis] = {"runs": "runs", "data": "windows", "fsdp": "windows"}


@dataclasses.dataclass(frozen=True)
class Layout:
    """Distribution of runs or windows over devices.

    Attributes:
        shard: the axis that is split over the devices.
        method: the transformation of per-device functions. ``jit`` partitions global arrays over a
            mesh; ``pmap`` maps over a leading axis of devices. Functions and numbers are the same.
        num_devices: number of devices used, the first of ``target.devices()``.
        reason: reason for the choice of this layout, in a few words.
    """

    shard: Literal["runs", "data", "fsdp", "none"] = "none"
    method: Method = "jit"
    num_devices: int = 1
    reason: str = "one device"

    def __str__(self) -> str:
        return f"{self.shard} by {self.method}: {self.reason}"

    @property
    def devices(self) -> list[jax.Device]:
        """The devices that compute."""
        return target.devices()[: self.num_devices]

    def share(self, num_runs: int) -> int:
        """Number of runs on one device, if there are ``num_runs`` in all."""
        return num_runs // self.num_devices if self._splits("runs") else num_runs

    @property
    def share_of_run(self) -> float:
        """The part of a run's parameters that a device keeps, of the runs that it trains."""
        return 1 / self.num_devices if self.shard == "fsdp" else 1.0

    @property
    def share_of_state(self) -> float:
        """The part of the parameters and optimizer states of all runs that a device keeps."""
        return 1 / self.num_devices if self.shard == "runs" else self.share_of_run

    @property
    def splits_windows(self) -> bool:
        """True if the windows of an update are divided among the devices."""
        return self._splits("windows")

    def over_devices(
        self,
        function: Callable[..., Any],
        takes: Any,
        gives: Any,
        donate: tuple[int, ...] = (),
        jit: Callable[..., Any] = jax.jit,
    ) -> OnDevices:
        """Compile a per-device function into one that takes and returns global arrays.

        The compiled function runs on every device.

        Args:
            function: takes positional arguments; may call the methods below.
            takes: an ``Axis`` for each argument, or a tree of them for the arrays of a tree.
            gives: the same for its results; a result that is not split must be equal on all
                devices.
            donate: indices of the arguments whose memory may be used for the result.
            jit: the compiler, with the interface of ``jax.jit``; unused under ``pmap``.
        """
        if self.shard == "none":
            compiled = jit(function, donate_argnums=donate)
            return OnDevices(compiled, lambda *args: compiled.lower(*self.place(args, takes)))
        if self.method == "pmap":
            call = by_pmap(function, takes, gives, donate, self._splits, self.devices, _DEVICES)
        else:
            call = jit(self._partitioned(function, takes, gives), donate_argnums=donate)
        return OnDevices(
            lambda *args: call(*self.place(args, takes)),
            lambda *args: call.lower(*self.place(args, takes)),
        )

    def _partitioned(
        self, function: Callable[..., Any], takes: Any, gives: Any
    ) -> Callable[..., Any]:
        """A function of global arrays whose parts the compiler puts on the devices."""
        if self.shard == "fsdp":
            return placing(function, gives, self.sharding)
        return jax.shard_map(
            function,
            mesh=self._mesh,
            in_specs=jax.tree.map(self._spec, takes),
            out_specs=jax.tree.map(self._spec, gives),
            check_vma=False,  # as under pmap, gradients are summed where the code says so
        )

    def place(self, tree: Any, axes: Any) -> Any:
        """Put every array of a tree on the devices where a function that takes ``axes`` needs it.

        On several processes, each of them passes the whole array. A ``jax.ShapeDtypeStruct`` gets
        its sharding.
        """
        if self.shard == "none":
            return jax.tree.map(self._on_one, tree)
        return jax.tree.map(self._place, axes, tree)

    def fetch(self, tree: Any) -> Any:
        """Global arrays of a tree in NumPy, on every process, whatever devices hold their parts."""
        leaves, structure = jax.tree.flatten(tree)
        apart = [i for i, leaf in enumerate(leaves) if not _is_readable(leaf)]
        if apart:  # no process can read all parts, so the devices exchange them
            replicate = jax.jit(_same, out_shardings=NamedSharding(self._mesh, self._spec()))
            for i, whole in zip(apart, replicate(*[leaves[i] for i in apart]), strict=True):
                leaves[i] = whole
        return jax.tree.unflatten(structure, jax.device_get(leaves))

    # ── inside a per-device function ───────────────────────────────────────────────────────────

    def sum_over_windows(
        self, gradient_of: Callable[[Within], Gradient], layers: tuple[str, ...] = ()
    ) -> Gradient:
        """Divide the windows of a gradient among the devices and sum the results.

        Args:
            gradient_of: from a wrapper, of the loss as a function of parameters, to its gradient
                ``(params, batch, hypers, key, num_supervised) -> (summands, moments)``; given
                the number of supervised tokens of the whole update, the summands of its parts add
                up to its loss and gradient.
            layers: see ``ModelFns``.

        Returns:
            ``(params, batch, hypers, key) -> (sums, moments)``: the sums, equal on all devices, and
            the moments of this device's windows. ``pool_over_devices`` pools the moments; one call
            of it may serve many batches.
        """
        if self.shard == "fsdp":
            return Parts(self._mesh, layers).sum_over_windows(gradient_of)
        gradient = gradient_of(lambda loss: loss)
        if self.shard != "data":
            return gradient

        def summed(params: Any, batch: Batch, hypers: Any, key: Key) -> Any:
            # every device has the whole batch, and computes the gradient of its own windows only
            num_supervised, here = batch.mask.sum(dtype=jnp.float32), jax.lax.axis_index(_DEVICES)
            part = jax.tree.map(
                lambda leaf: leaf.reshape(self.num_devices, -1, *leaf.shape[1:])[here], batch
            )
            own = jax.random.fold_in(key, here)  # own dropout mask
            sums, moments = gradient(params, part, hypers, own, num_supervised)
            # psum chooses the order of summation by the number of devices; float addition is not
            # associative, so the last bits depend on that number
            return jax.lax.psum(sums, _DEVICES), moments

        return summed

    def pool_over_devices(self, moments: dict[str, Moments]) -> dict[str, Moments]:
        """Moments of all windows, from the moments of each device's windows."""
        apart = self.shard == "data"
        return pool_tree(jax.lax.all_gather(moments, _DEVICES)) if apart else moments

    def over_windows(
        self, measure: Callable[..., Any], layers: tuple[str, ...] = ()
    ) -> Callable[..., Any]:
        """Pool the moments of windows that are divided among the devices.

        Args:
            measure: ``measure(params, batch, hypers) -> moments`` of the windows of a batch.
            layers: see ``ModelFns``.
        """
        if self.shard == "fsdp":
            return Parts(self._mesh, layers).over_windows(measure)
        return lambda *args: self.pool_over_devices(measure(*args))

    # ── placement ────────────────────────────────────────────────────────────────────────────────

    @property
    def _mesh(self) -> jax.sharding.Mesh:
        automatic = (AxisType.Auto,)
        return jax.make_mesh((self.num_devices,), (_DEVICES,), automatic, devices=self.devices)

    def _splits(self, axis: Axis) -> bool:
        return _SPLIT.get(self.shard) == axis

    def _spec(self, axis: Axis = "shared") -> PartitionSpec:
        return PartitionSpec(_DEVICES) if self._splits(axis) else PartitionSpec()

    def sharding(self, axis: Axis, shape: tuple[int, ...]) -> Sharding:
        """The place of an array, by the meaning of its first axis.

        Under ``fsdp`` the longest of a run's axes that the devices divide is split among them; an
        array without such an axis is on all of them.

        Args:
            axis: meaning of the first axis.
            shape: of the whole array.
        """
        if self.shard == "none":
            return SingleDeviceSharding(self.devices[0])
        if self.shard == "fsdp" and axis == "runs":
            return NamedSharding(self._mesh, Parts(self._mesh).spec_of_runs(shape))
        return NamedSharding(self._mesh, self._spec(axis))

    def place_of_state(self, leaf: jax.ShapeDtypeStruct) -> Sharding:
        """The place of an array of a training's state; one without axes belongs to all runs."""
        return self.sharding("runs" if leaf.shape else "shared", leaf.shape)

    def _place(self, axis: Axis, tree: Any) -> Any:
        def put(leaf: Any) -> Any:
            sharding = self.sharding(axis, jnp.shape(leaf))
            if isinstance(leaf, jax.ShapeDtypeStruct):
                return _with_sharding(leaf, sharding)
            there = isinstance(leaf, jax.Array) and leaf.sharding == sharding
            return leaf if there else jax.device_put(leaf, sharding)

        return jax.tree.map(put, tree)

    def _on_one(self, leaf: Any) -> Any:
        if isinstance(leaf, jax.ShapeDtypeStruct):
            return _with_sharding(leaf, SingleDeviceSharding(self.devices[0]))
        return leaf


ONE_DEVICE = Layout()


def _with_sharding(shape: jax.ShapeDtypeStruct, sharding: Sharding) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=sharding)


def _same(*arrays: Array) -> tuple[Array, ...]:
    """Identity. Named, because jit caches by function: a lambda would be compiled at every call."""
    return arrays


def _is_readable(leaf: Any) -> bool:
    """True if this process has all values of a leaf."""
    return not isinstance(leaf, jax.Array) or leaf.is_fully_addressable or leaf.is_fully_replicated
