"""The folder of one step: what it must hold, and its state read back. Changes nothing."""

import pathlib
from collections.abc import Callable
from typing import Any

import jax

from el_jax.checkpoints import arrays, manifest
from el_jax.checkpoints.manifest import DamagedError, Leaf, Manifest

ARRAYS = "arrays"  # folder of a step that orbax writes

Placement = Callable[[jax.ShapeDtypeStruct], jax.sharding.Sharding]


def describe(tree: Any) -> tuple[Leaf, ...]:
    """Path, shape and dtype of every leaf of a tree of arrays or ``jax.ShapeDtypeStruct``."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return tuple(
        Leaf(jax.tree_util.keystr(path, simple=True, separator="/"), leaf.shape, str(leaf.dtype))
        for path, leaf in leaves
    )


def on_first_device(_: jax.ShapeDtypeStruct) -> jax.sharding.Sharding:
    """The sharding of every array in a training on one device."""
    return jax.sharding.SingleDeviceSharding(jax.local_devices()[0])


def check_step(
    folder: pathlib.Path,
    needed: tuple[Leaf, ...],
    config_sha256: str,
    rows: pathlib.Path | None = None,
) -> Manifest:
    """The manifest of a step, all of whose files are as they were written.

    Args:
        folder: of the step.
        needed: the arrays it must have.
        config_sha256: the config it must be of.
        rows: the file whose beginning it vouches for.

    Raises:
        DamagedError: names the first fault.
    """
    written = manifest.read(folder)
    if written.config_sha256 != config_sha256:
        raise DamagedError(f"{manifest.MANIFEST}: it is of a training with another config")
    manifest.check_tree(written, needed)
    manifest.check_files(folder, written)
    if rows is not None:
        manifest.check_rows(rows, written)
    return written


def load_step(folder: pathlib.Path, target: Any, place: Placement = on_first_device) -> Any:
    """The state of a step that was found intact.

    Args:
        folder: of the step.
        target: shape and type of every array.
        place: where each array goes, whatever devices it was saved from.

    Raises:
        DamagedError: it cannot be read here.
    """
    placed = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place(leaf)), target
    )
    try:
        return arrays.load(folder / ARRAYS, placed)
    except Exception as error:  # intact, but not for this orbax or machine
        raise DamagedError(f"{ARRAYS}: orbax cannot read it ({first_line(error)})") from error


def first_line(error: Exception) -> str:
    """The reason an error of a library gives, in a few words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error)
    for reason in ("No space left on device", "File too large", "Read-only file system"):
        if reason in text:  # somewhere in the storage library's message
            return reason
    return (text.splitlines() or [type(error).__name__])[0][:80]
