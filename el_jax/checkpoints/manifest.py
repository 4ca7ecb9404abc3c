"""The manifest of a checkpoint: a list of its contents, so that no damaged one is ever trusted.

Orbax notices neither a flipped bit in its data files nor a missing marker. So every file of a step
is listed in manifest.json with its size and SHA-256, and manifest.json itself in manifest.sha256,
which ``sha256sum -c`` reads. This module does without JAX, so a folder can be checked without it.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from el_jax.runtime.files import sync, write_durably

MANIFEST, SEAL = "manifest.json", "manifest.sha256"
FORMAT = 2
_BLOCK_BYTES = 1 << 20


class DamagedError(ValueError):
    """A checkpoint has changed since it was written; the message names the file and the fault."""


class FormatError(DamagedError):
    """A checkpoint comes from another version of el_jax, with another form of manifest."""


class Leaf(NamedTuple):
    """One array of the saved tree: path in the tree, shape, and name of the dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class Digest(NamedTuple):
    """Size in bytes and SHA-256 of a file, or of its beginning."""

    size: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Manifest:
    """Contents of a checkpoint.

    Attributes:
        step: updates made before the save.
        config_sha256: hash of the training's config, see ``config_hash``.
        tree: every array.
        files: digest of every file of the step, by its path in the folder of the step.
        rows: digest of metrics.jsonl at the save, because a resumed training does not rewrite these
            rows; None if no rows were kept.
        origin: environment of the numbers besides the config, by name: versions, device, flags.
        groups: number of runs computed at once, by name of the function.
    """

    step: int
    config_sha256: str
    tree: tuple[Leaf, ...]
    files: Mapping[str, Digest]
    rows: Digest | None
    origin: Mapping[str, str]
    groups: Mapping[str, int]

    @property
    def num_bytes(self) -> int:
        """Size of all files together."""
        return sum(digest.size for digest in self.files.values())


def origin_differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Each part of the origin that differs, as ``name: old -> new``."""
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return [f"{name}: {old.get(name, '')!r} -> {new.get(name, '')!r}" for name in names]


def config_hash(config: Mapping[str, Any]) -> str:
    """SHA-256 of a resolved config, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def digest(path: pathlib.Path, size: int | None = None) -> Digest:
    """Digest of a file, or of its first ``size`` bytes; of all bytes if the file is shorter."""
    sha256, left = hashlib.sha256(), os.stat(path).st_size if size is None else size
    done = 0
    with path.open("rb") as file:
        while block := file.read(min(_BLOCK_BYTES, left - done)):
            sha256.update(block)
            done += len(block)
    return Digest(done, sha256.hexdigest())


def digest_files(folder: pathlib.Path) -> dict[str, Digest]:
    """Wait until every file under a folder is on disk, and digest it."""
    digests = {}
    for path in sorted(folder.rglob("*")):
        sync(path)
        if path.is_file() and path.name not in (MANIFEST, SEAL):
            digests[path.relative_to(folder).as_posix()] = digest(path)
    return digests


def _seal(content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()}  {MANIFEST}\n"


def write(folder: pathlib.Path, manifest: Manifest) -> None:
    """Write the manifest into the folder of its step, and wait until it is on disk."""
    text = json.dumps({"format": FORMAT, **dataclasses.asdict(manifest)}, indent=1) + "\n"
    write_durably(folder / MANIFEST, text)
    write_durably(folder / SEAL, _seal(text.encode()))


def read(folder: pathlib.Path) -> Manifest:
    """Read the manifest of a step.

    Raises:
        DamagedError: the manifest is missing, was changed, or lies in another step's folder.
    """
    content, seal = (_content(folder / name) for name in (MANIFEST, SEAL))
    if seal != _seal(content).encode():
        raise DamagedError(f"{MANIFEST}: its SHA-256 is not the one in {SEAL}")
    manifest = _parsed(content)
    if str(manifest.step) != folder.name:
        raise DamagedError(f"{MANIFEST}: of step {manifest.step}, in the folder of {folder.name}")
    return manifest


def _parsed(content: bytes) -> Manifest:
    try:
        values = json.loads(content)
        found = values.pop("format")
        if found == FORMAT:
            return Manifest(
                tree=tuple(Leaf(n, tuple(shape), kind) for n, shape, kind in values.pop("tree")),
                files={name: _digest(pair) for name, pair in values.pop("files").items()},
                rows=None if (rows := values.pop("rows")) is None else _digest(rows),
                origin=dict(values.pop("origin")),
                groups={str(name): int(size) for name, size in values.pop("groups").items()},
                **values,
            )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{MANIFEST}: not of the form this version writes") from error
    raise FormatError(f"{MANIFEST}: of format {found!r}; this version reads {FORMAT}")


def _digest(pair: list[Any]) -> Digest:
    size, sha256 = pair
    return Digest(int(size), sha256)


def _content(path: pathlib.Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path.name}: {_why(error)}") from error


def _why(error: OSError) -> str:
    missing = isinstance(error, FileNotFoundError | NotADirectoryError)
    return "missing" if missing else f"cannot be read ({error.strerror})"


def check_files(folder: pathlib.Path, manifest: Manifest) -> None:
    """Read every file of a step and compare it with the manifest.

    Raises:
        DamagedError: names the first file that is missing or differs.
    """
    for name, written in manifest.files.items():
        _check(name, folder / name, written, size=None)


def check_rows(path: pathlib.Path, manifest: Manifest) -> None:
    """Compare the beginning of metrics.jsonl with its digest at the save.

    Raises:
        DamagedError: rows are missing or differ.
    """
    if manifest.rows is not None:
        _check(path.name, path, manifest.rows, size=manifest.rows.size)


def _check(name: str, path: pathlib.Path, written: Digest, size: int | None) -> None:
    try:
        if size is None and os.stat(path).st_size != written.size:  # before reading all of it
            raise DamagedError(f"{name}: {os.stat(path).st_size} bytes instead of {written.size}")
        found = digest(path, size)
    except OSError as error:
        raise DamagedError(f"{name}: {_why(error)}") from error
    if found.size < written.size:
        raise DamagedError(f"{name}: {found.size} bytes instead of {written.size}")
    if found != written:
        of = "" if size is None else f"its first {size} bytes "
        raise DamagedError(f"{name}: {of}differ from what was written (SHA-256)")


def check_tree(manifest: Manifest, expected: tuple[Leaf, ...]) -> None:
    """Compare the saved arrays with those a training needs.

    Raises:
        DamagedError: names the first array that differs.
    """
    saved, needed = ({leaf.name: leaf for leaf in tree} for tree in (manifest.tree, expected))
    for name in sorted(saved.keys() | needed.keys()):
        ours, theirs = (_type(tree.get(name)) for tree in (needed, saved))
        if ours != theirs:
            raise DamagedError(f"{MANIFEST}: {name} is {theirs}, the config needs {ours}")


def _type(leaf: Leaf | None) -> str:
    return "absent" if leaf is None else f"{leaf.dtype}{list(leaf.shape)}"


def committed_steps(folder: pathlib.Path) -> list[int]:
    """Steps with a checkpoint, intact or not, oldest first; [] if there is no such folder.

    A folder gets the name of its step after its manifest is on disk: one without it was damaged.
    """
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(name) for name in names if re.fullmatch(r"0|[1-9][0-9]*", name))
