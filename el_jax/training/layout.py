"""A training on many devices: a mesh of runs × data, and the placement of each array on it.

Training functions are written once, for whole arrays of some runs. ``Layout.compile`` divides the
runs among the devices along one mesh axis; runs share nothing, so nothing is sent. Along the other
axis each device takes some windows of every update, and their gradients are summed (see
``Sharded``). With ``fsdp`` (fully sharded data parallelism; the third stage of ZeRO, Rajbhandari et
al. 2020, arXiv 1910.02054) parameters and optimizer states are sharded along that axis as well,
and gathered where they are used.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import AxisType, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from el_jax.process import target
from el_jax.training.objectives import Objective
from el_jax.training.objectives.sharded import Sharded, shard_axes
from el_jax.training.pmap import Pooled, by_pmap

Method = Literal["jit", "pmap"]
Shard = Literal["auto", "runs", "data", "fsdp", "none"]  # see choose_layout
Axis = Literal["runs", "windows", "shared"]  # meaning of an array's leading axis


class OnDevices(NamedTuple):
    """A function of global arrays, computed on all devices of a layout.

    Attributes:
        call: the function.
        lower: takes the same arguments, or a ``jax.ShapeDtypeStruct`` for each, and returns the
            lowered program, which can be compiled without calling it.
    """

    call: Callable[..., Any]
    lower: Callable[..., jax.stages.Lowered]

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return self.call(*args)


@dataclass(frozen=True)
class Layout:
    """Distribution of runs and of windows over devices.

    Attributes:
        runs: number of devices among which the runs are divided.
        data: number of devices among which the windows of each update are divided.
        fsdp: these devices also shard each parameter and its optimizer state.
        method: the transformation; ``pmap`` divides either runs or windows.
        reason: why this layout was chosen, in a few words.
    """

    runs: int = 1
    data: int = 1
    fsdp: bool = False
    method: Method = "jit"
    reason: str = "one device"

    def __str__(self) -> str:
        return f"{self.shard} by {self.method}: {self.reason}"

    @property
    def shard(self) -> str:
        """The axes that are divided: runs, data, fsdp, runs × data, runs × fsdp or none."""
        data = "fsdp" if self.fsdp else "data"
        sizes = {"runs": self.runs, data: self.data}
        return " × ".join(axis for axis, size in sizes.items() if size > 1) or "none"

    @property
    def num_devices(self) -> int:
        """Number of devices used, the first of ``target.devices()``."""
        return self.runs * self.data

    @property
    def devices(self) -> list[jax.Device]:
        """The devices that compute."""
        return target.devices()[: self.num_devices]

    def share(self, num_runs: int) -> int:
        """Number of runs on one device, out of ``num_runs`` in all."""
        return num_runs // self.runs

    @property
    def share_of_run(self) -> float:
        """Share of the parameters of each run that it trains which a device keeps."""
        return 1 / self.data if self.fsdp else 1.0

    @property
    def share_of_state(self) -> float:
        """Share of the parameters and optimizer states of all runs that a device keeps."""
        return self.share_of_run / self.runs

    def compile(
        self,
        function: Callable[..., Any],
        takes: Any,
        gives: Any,
        donate: tuple[int, ...] = (),
        jit: Callable[..., Any] = jax.jit,
    ) -> OnDevices:
        """Compile a function of some runs into a function of all runs, on all devices.

        Args:
            function: takes positional arguments; on an argument with axis ``"runs"`` it may see
                only some of the runs.
            takes: an ``Axis`` for each argument, or a tree of them for the arrays of a tree.
            gives: the same for its results.
            donate: indices of the arguments whose memory may be used for the result.
            jit: the compiler, with the interface of ``jax.jit``; unused under ``pmap``.
        """
        lower: Callable[..., jax.stages.Lowered]
        if self.method == "pmap" and self.num_devices > 1:
            call, lower = by_pmap(function, takes, gives, donate, self._divides, self.devices)
        else:
            call = jit(self._divided(function, takes, gives), donate_argnums=donate)
            lower = call.lower
        return OnDevices(
            call if self.num_devices == 1 else lambda *args: call(*self.place(args, takes)),
            lambda *args: lower(*self.place(args, takes)),
        )

    def over_windows(self, objective: Objective) -> Objective:
        """The objective with the windows of its batches divided among devices."""
        if self.data == 1:
            return objective
        if self.method == "pmap":
            return Pooled(objective)
        return Sharded(objective, self.data, self.fsdp)

    # ── placement ────────────────────────────────────────────────────────────────────────────────

    def sharding(self, axis: Axis, shape: tuple[int, ...]) -> Sharding:
        """The sharding of an array, by the meaning of its first axis.

        Under ``fsdp`` an array of a run is sharded along its longest axis that the number of
        devices divides.

        Args:
            axis: meaning of the first axis.
            shape: shape of the whole array.
        """
        if self.num_devices == 1:
            return SingleDeviceSharding(self.devices[0])
        if axis == "runs":
            axes = shard_axes(shape[1:], self.data if self.fsdp else 1)
            return NamedSharding(self._mesh, PartitionSpec("runs", *axes))
        windows = axis == "windows"
        return NamedSharding(self._mesh, PartitionSpec("data") if windows else PartitionSpec())

    def place_of_state(self, leaf: jax.ShapeDtypeStruct) -> Sharding:
        """The sharding of an array of the training state; a scalar belongs to all runs."""
        return self.sharding("runs" if leaf.shape else "shared", leaf.shape)

    def place(self, tree: Any, axes: Any) -> Any:
        """Put every array of a tree on the devices where a function that takes ``axes`` needs it.

        Each of several processes passes the whole array. A ``jax.ShapeDtypeStruct`` gets its
        sharding.
        """

        def put(axis: Axis, leaf: Any) -> Any:
            sharding = self.sharding(axis, jnp.shape(leaf))
            if isinstance(leaf, jax.ShapeDtypeStruct):
                return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)
            if self.num_devices == 1 or _is_there(leaf, sharding):
                return leaf
            return jax.device_put(leaf, sharding)

        return jax.tree.map(
            lambda axis, part: jax.tree.map(lambda leaf: put(axis, leaf), part), axes, tree
        )

    def fetch(self, tree: Any) -> Any:
        """A tree's global arrays in NumPy, on every process, wherever their shards are."""
        leaves, structure = jax.tree.flatten(tree)
        apart = [i for i, leaf in enumerate(leaves) if not _is_readable(leaf)]
        if apart:  # no process can read all shards, so the devices exchange them
            everywhere = NamedSharding(self._mesh, PartitionSpec())
            replicate = jax.jit(_same, out_shardings=everywhere)
            for i, whole in zip(apart, replicate(*[leaves[i] for i in apart]), strict=True):
                leaves[i] = whole
        return jax.tree.unflatten(structure, jax.device_get(leaves))

    @property
    def _mesh(self) -> jax.sharding.Mesh:
        shape, automatic = (self.runs, self.data), (AxisType.Auto, AxisType.Auto)
        return jax.make_mesh(shape, ("runs", "data"), automatic, devices=self.devices)

    def _divides(self, axis: Axis) -> bool:
        return {"runs": self.runs, "windows": self.data, "shared": 1}[axis] > 1

    def _divided(self, function: Callable[..., Any], takes: Any, gives: Any) -> Callable[..., Any]:
        """The function with its runs divided; it divides windows itself, see ``over_windows``."""
        if self.num_devices == 1:
            return function

        def specs(axes: Any) -> Any:
            by_run, whole = PartitionSpec("runs"), PartitionSpec()
            return jax.tree.map(lambda axis: by_run if axis == "runs" else whole, axes)

        divided = jax.shard_map(
            function,
            mesh=self._mesh,
            in_specs=specs(takes),
            out_specs=specs(gives),
            # an axis left to the compiler would change the order of sums even where nothing is sent
            axis_names={"runs"} if self.data > 1 else {"runs", "data"},
            check_vma=False,
        )

        def put(axis: Any, tree: Any) -> Any:
            return jax.tree.map(
                lambda leaf: jax.lax.with_sharding_constraint(
                    leaf, self.sharding(axis, leaf.shape)
                ),
                tree,
            )

        return lambda *args: jax.tree.map(put, gives, divided(*args))


ONE_DEVICE = Layout()


def choose_layout(method: Method, shard: Shard, num_runs: int, num_windows: int) -> Layout:
    """Choose the layout of a training on all devices that it is compiled for.

    Args:
        method: see ``Layout``.
        shard: the axis to divide among all devices. "auto" first divides the runs as far as
            possible, since they share nothing, then the windows among the remaining devices.
        num_runs: R.
        num_windows: windows per update.

    Raises:
        ValueError: the axis cannot be divided so; the message begins with the config key.
    """
    devices, processes = target.num_devices(), target.num_processes()
    if method == "pmap" and (processes > 1 or shard == "fsdp"):
        why = f"on {processes} processes" if processes > 1 else "with train.shard='fsdp'"
        raise ValueError(f"parallel='pmap': must be 'jit' {why}")
    if devices == 1 or (shard == "none" and processes == 1):
        return Layout(reason="one device" if devices == 1 else "as asked for")
    runs, windows = f"{num_runs} runs", f"{num_windows} windows of an update"
    what, divided = (runs, num_runs) if shard == "runs" else (windows, num_windows)
    if shard in ("runs", "data", "fsdp") and divided % devices:
        allowed = "auto or none" if processes == 1 else "auto"
        raise ValueError(
            f"train.shard={shard!r}: must be {allowed} with {what} on {devices} devices"
        )
    of_runs = {"runs": devices, "auto": math.gcd(num_runs, devices)}.get(shard, 1)
    if method == "pmap" and of_runs < devices:  # along one axis only
        of_runs = 1
    of_windows = devices // of_runs
    if shard == "none" or num_windows % of_windows:
        if processes > 1:
            raise ValueError(
                f"train.shard={shard!r}: the {devices} devices of {processes} processes must "
                f"divide the {runs} or the {windows}, and it must be auto, runs or data"
            )
        return Layout(reason=f"{devices} devices divide neither {runs} nor {windows}")
    counts = [runs] * (of_runs > 1) + [windows] * (of_windows > 1)
    of_parameters = " and a part of each parameter" if shard == "fsdp" else ""
    reason = f"{' and '.join(counts)}{of_parameters} on {devices} devices"
    return Layout(of_runs, of_windows, shard == "fsdp", method, reason)


def _same(*arrays: Array) -> tuple[Array, ...]:
    """Identity; named because jit caches by function and would recompile a lambda every call."""
    return arrays


def _is_there(leaf: Any, sharding: Sharding) -> bool:
    return isinstance(leaf, jax.Array) and leaf.sharding.is_equivalent_to(sharding, leaf.ndim)


def _is_readable(leaf: Any) -> bool:
    """True if this process has all values of a leaf."""
    return not isinstance(leaf, jax.Array) or leaf.is_fully_addressable or leaf.is_fully_replicated
