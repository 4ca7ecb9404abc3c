"""Choose how a training is sharded over the available devices."""

from el_jax.process import target
from el_jax.training.devices.layout import Layout, Method, Shard


def choose_layout(method: Method, shard: Shard, num_runs: int, num_windows: int) -> Layout:
    """Choose the layout of a training on all devices that it is compiled for.

    Args:
        method: see ``Layout``.
        shard: axis to split; "auto" means the first of runs, data and none that divides evenly.
        num_runs: R.
        num_windows: windows of an update.

    Raises:
        ValueError: the devices do not divide it so; the message begins with the key of the config.
    """
    num_devices, num_processes = target.num_devices(), target.num_processes()
    if num_processes > 1 and method == "pmap":
        raise ValueError(f"parallel='pmap': must be 'jit' on {num_processes} processes")
    if shard == "fsdp" and method == "pmap":
        raise ValueError("parallel='pmap': must be 'jit' with train.shard='fsdp'")
    sizes: dict[Shard, int] = {"runs": num_runs, "data": num_windows, "fsdp": num_windows}
    if shard in sizes and sizes[shard] % num_devices:
        what = "runs" if shard == "runs" else "windows of an update"
        raise ValueError(
            f"train.shard={shard!r}: must be auto or none with {sizes[shard]} {what} on "
            f"{num_devices} devices"
        )
    if num_devices == 1 or (shard == "none" and num_processes == 1):
        return Layout(reason="one device" if num_devices == 1 else "as asked for")
    runs, windows = f"{num_runs} runs", f"{num_windows} windows of an update"
    if shard == "fsdp":
        why = f"{windows} and a part of each parameter on {num_devices} devices"
        return Layout("fsdp", method, num_devices, why)
    # runs before windows: runs share nothing, so no gradients travel between devices
    if shard in ("auto", "runs") and num_runs % num_devices == 0:
        return Layout("runs", method, num_devices, f"{runs} on {num_devices} devices")
    if shard in ("auto", "data") and num_windows % num_devices == 0:
        why = f"{windows} on {num_devices} devices"
        why += f", which {runs} do not fill evenly" if shard == "auto" else ""
        return Layout("data", method, num_devices, why)
    if num_processes > 1:
        raise ValueError(
            f"train.shard={shard!r}: the {num_devices} devices of {num_processes} processes must "
            f"divide the {runs} or the {windows}, and it must be auto, runs or data"
        )
    return Layout(reason=f"{num_devices} devices divide neither {runs} nor {windows}")
