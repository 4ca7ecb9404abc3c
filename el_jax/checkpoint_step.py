"""The folder of one checkpoint: written and read by orbax, verified by SHA-256 sums."""

import hashlib
import json
import os
import pathlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

import jax

from el_jax.process.files import sync, write_durably

ARRAYS, ABOUT, SUMS = "arrays", "about.json", "SHA256SUMS"
FORMAT = 3
_STATE = "state"  # orbax's name for the one tree of a checkpoint
_BLOCK_BYTES = 1 << 20

Placement = Callable[[jax.ShapeDtypeStruct], jax.sharding.Sharding]


class DamagedError(ValueError):
    """A checkpoint has changed since it was written, or belongs to another training."""


@runtime_checkable
class State(Protocol):
    """A named tuple of arrays, including the number of updates made."""

    @property
    def step(self) -> Any:
        """Updates made so far, a scalar."""

    def _asdict(self) -> dict[str, Any]: ...


def _parts(state: State) -> dict[str, Any]:
    """The parts of a state but those that are (), which earlier versions may not have."""
    return {name: part for name, part in state._asdict().items() if type(part) is not tuple or part}


S = TypeVar("S", bound=State)


def config_hash(config: Mapping[str, Any]) -> str:
    """SHA-256 of a resolved config, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def committed_steps(folder: pathlib.Path) -> list[int]:
    """Steps with a checkpoint, intact or not, oldest first; [] if there is no such folder."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(name) for name in names if re.fullmatch(r"0|[1-9][0-9]*", name))


def describe(tree: Any) -> dict[str, str]:
    """Type and shape of every leaf of a tree by its path, such as ``float32[3, 4]``."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): f"{leaf.dtype}{list(leaf.shape)}"
        for path, leaf in leaves
    }


def on_first_device(_: jax.ShapeDtypeStruct) -> jax.sharding.Sharding:
    """The sharding of every array in a training on one device."""
    return jax.sharding.SingleDeviceSharding(jax.local_devices()[0])


def read_step(
    folder: pathlib.Path,
    target: S,
    config_sha256: str,
    rows: pathlib.Path | None = None,
    place: Placement = on_first_device,
) -> tuple[S, dict[str, Any]]:
    """Verify a checkpoint and read it.

    Args:
        folder: the step's folder.
        target: shape and type of every array.
        config_sha256: hash of the config that it must belong to.
        rows: metrics.jsonl, whose beginning must be unchanged since the save; None to skip this.
        place: maps the shape of an array to its sharding, whatever devices it was saved from.

    Returns:
        The state, and the content of ``about.json``.

    Raises:
        DamagedError: names the first file or array that differs.
    """
    about = verified(folder)
    if about["config_sha256"] != config_sha256:
        raise DamagedError("it is of a training with another config")
    needed, saved = describe(target), about["arrays"]
    for name in sorted(needed.keys() | saved.keys()):
        if needed.get(name) != saved.get(name):
            raise DamagedError(
                f"{name} is {saved.get(name, 'absent')}, the config needs "
                f"{needed.get(name, 'none')}"
            )
    if rows is not None:
        size, sha256 = about["rows"]
        if not rows.exists() or sha256_of(rows, size) != sha256:
            raise DamagedError(f"{rows.name}: its first {size} bytes differ from what was written")
    placed = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place(leaf)), target
    )
    try:
        return _load(folder / ARRAYS, placed), about
    except Exception as error:  # intact, but unreadable for this orbax or machine
        raise DamagedError(f"{ARRAYS}: orbax cannot read it ({reason(error)})") from error


def seal(folder: pathlib.Path, about: Mapping[str, Any]) -> None:
    """Write ``about.json`` and a finished folder's sums, and wait until all is on disk."""
    write_durably(folder / ABOUT, json.dumps(about, indent=1) + "\n")
    for path in folder.rglob("*"):
        sync(path)
    sums = [f"{sha256_of(folder / name)}  {name}\n" for name in _files(folder)]
    write_durably(folder / SUMS, "".join(sums))


def verified(folder: pathlib.Path) -> dict[str, Any]:
    """Compare every file with its sum, and return the content of ``about.json``.

    Raises:
        DamagedError: names the first file that is missing or differs.
    """
    try:
        lines = (folder / SUMS).read_text().splitlines()
    except (OSError, ValueError) as error:
        raise DamagedError(f"{SUMS}: missing or damaged") from error
    listed = {name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}
    for name in sorted({*listed, *_files(folder)}):
        if not (folder / name).is_file():
            raise DamagedError(f"{name}: missing")
        try:
            found = sha256_of(folder / name)
        except OSError as error:
            raise DamagedError(f"{name}: cannot be read ({error.strerror})") from error
        if found != listed.get(name):
            raise DamagedError(f"{name}: its SHA-256 is not the one in {SUMS}")
    about: dict[str, Any] = json.loads((folder / ABOUT).read_bytes())
    if about["format"] != FORMAT or str(about["step"]) != folder.name:
        raise DamagedError(f"{ABOUT}: of step {about['step']} in format {about['format']}")
    return about


def _files(folder: pathlib.Path) -> list[str]:
    """Paths of all files of a step except its sums."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return sorted({path.relative_to(folder).as_posix() for path in paths} - {SUMS})


def sha256_of(path: pathlib.Path, size: int | None = None) -> str:
    """SHA-256 of a file, or of its first ``size`` bytes if it is longer."""
    sha256, left = hashlib.sha256(), os.stat(path).st_size if size is None else size
    with path.open("rb") as file:
        while block := file.read(min(_BLOCK_BYTES, left)):
            sha256.update(block)
            left -= len(block)
    return sha256.hexdigest()


def reason(error: Exception) -> str:
    """The reason that a library's error gives, in a few words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error)
    for reason in ("No space left on device", "File too large", "Read-only file system"):
        if reason in text:  # somewhere in the storage library's message
            return reason
    return (text.splitlines() or [type(error).__name__])[0][:80]


# ---- orbax --------------------------------------------------------------------------------------


def import_orbax() -> None:
    """Import, ahead of time, what the first save needs."""
    from orbax.checkpoint import v1  # noqa: F401  # .6 s, in the background


def start_saving(folder: pathlib.Path, state: State) -> Callable[[], None]:
    """Copy the arrays and start writing them; return a function that waits for the end."""
    if jax.process_count() == 1:
        from orbax.checkpoint import v1

        return v1.save_checkpointables_async(folder, {_STATE: _parts(state)}).result
    # 2026-11-21, orbax 0.12: v1 makes all processes compare the folder, whoever saves
    import orbax.checkpoint as ocp

    alone = ocp.options.MultiprocessingOptions(primary_host=0, active_processes={0})
    handler = ocp.CompositeCheckpointHandler(
        composite_options=ocp.CompositeOptions(multiprocessing_options=alone),
        **{_STATE: ocp.PyTreeCheckpointHandler(multiprocessing_options=alone)},
    )
    saver = ocp.AsyncCheckpointer(handler, multiprocessing_options=alone)
    tree = ocp.args.PyTreeSave(_parts(state))
    saver.save(folder, args=ocp.args.Composite(**{_STATE: tree}))
    return saver.close  # waits, and raises errors from the background


def _load(folder: pathlib.Path, placed: S) -> S:
    from orbax.checkpoint import v1 as ocp

    context = ocp.Context()
    if jax.process_count() > 1:
        context.multiprocessing.primary_host = jax.process_index()
        context.multiprocessing.active_processes = {jax.process_index()}
    with context:
        read = ocp.load_checkpointables(folder, {_STATE: _parts(placed)})[_STATE]
    return type(placed)(**placed._asdict() | read)
