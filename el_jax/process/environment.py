"""The environment that numbers depend on besides the config: code, versions, hardware."""

import importlib.metadata
import os
import pathlib
import platform
import subprocess

import jax

PACKAGES = ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")
SOURCES = ("*.py", "requirements.txt")  # numbers depend only on these files


def hardware() -> dict[str, str | int]:
    """The devices jax computes on, and the machine they are in."""
    device = jax.devices()[0]
    return {
        "device_kind": device.device_kind,
        "platform": device.platform,
        "num_devices": jax.device_count(),
        "cpu_count": _cores(),
        "processor": _processor(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _cores() -> int:
    """Number of cores that this process may use; XLA rounds differently for other numbers."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0


def _processor() -> str:
    """The CPU's model, since models round differently; Linux on x86 says more than Python."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    fields = {name.strip(): value.strip() for name, _, value in (s.partition(":") for s in lines)}
    if not {"model name", "cpu family", "model"} <= fields.keys():  # as on ARM
        return platform.processor() or platform.machine()
    return f"{fields['model name']}, family {fields['cpu family']}, model {fields['model']}"


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that compute."""
    installed = {package: importlib.metadata.version(package) for package in PACKAGES}
    return {"python": platform.python_version(), **installed}


def xla_flags() -> str:
    """The compiler's flags in this process, on which its sums depend."""
    return os.environ.get("XLA_FLAGS", "")


def checkout_state(folder: pathlib.Path = pathlib.Path(__file__).parent) -> tuple[str, bool]:
    """The commit checked out at ``folder`` and whether sources differ from it.

    Returns:
        ``("unknown", True)`` outside a clone or without git.
    """
    try:
        top = _git(folder, "rev-parse", "--show-toplevel")
        commit = _git(folder, "rev-parse", "HEAD")
        changes = _git(pathlib.Path(top), "status", "--porcelain", "--", *SOURCES)
    except (OSError, subprocess.CalledProcessError):
        return "unknown", True
    return commit, bool(changes)


def _git(folder: pathlib.Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
