"""The manifest of a checkpoint: what it holds, so that no damaged one is ever trusted.

Orbax notices neither a flipped bit in its data files nor a missing marker. So every file of a step
is listed in manifest.json with its size and SHA-256, and manifest.json itself in manifest.sha256,
which ``sha256sum -c`` reads. Knows nothing of JAX: a folder can be checked without it.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

MANIFEST, SEAL = "manifest.json", "manifest.sha256"
FORMAT = 1
_BLOCK_BYTES = 1 << 20


class DamagedError(ValueError):
    """A checkpoint is not what was written; the message names the file and says what is wrong."""


class Leaf(NamedTuple):
    """One array of the saved tree: path in it, shape, and name of its type."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class Digest(NamedTuple):
    """Size in bytes and SHA-256 of a file, or of its beginning."""

    size: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Manifest:
    """What was written.

    Attributes:
        step: updates made when it was saved.
        config_sha256: the config it was trained with, see ``config_hash``.
        tree: every array.
        files: files of the step by their path in its folder.
        beginnings: files that only grow, by their path from the folder of all checkpoints, with
            the part that was there; rows of metrics that a training which goes on will not write.
    """

    step: int
    config_sha256: str
    tree: tuple[Leaf, ...]
    files: Mapping[str, Digest]
    beginnings: Mapping[str, Digest]

    @property
    def num_bytes(self) -> int:
        """Size of all files together."""
        return sum(digest.size for digest in self.files.values())


def config_hash(config: Mapping[str, Any]) -> str:
    """SHA-256 of a resolved config, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def sync(path: pathlib.Path) -> None:
    """Wait until a file's content, or a folder's list of names, would survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_durably(path: pathlib.Path, text: str) -> None:
    """Write a file, whole or not at all, and wait until it is on disk."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text(text)
        sync(temporary)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)  # on a full disk it takes room that is needed
        raise
    sync(path.parent)


def digest(path: pathlib.Path, size: int | None = None) -> Digest:
    """Digest of a file, or of its first ``size`` bytes; of fewer if it is shorter."""
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
    """Write the manifest into the folder of its step; on disk when this returns."""
    text = json.dumps({"format": FORMAT, **dataclasses.asdict(manifest)}, indent=1) + "\n"
    write_durably(folder / MANIFEST, text)
    write_durably(folder / SEAL, _seal(text.encode()))


def read(folder: pathlib.Path) -> Manifest:
    """Read the manifest of a step.

    Raises:
        DamagedError: it is missing or not as it was written, or stands in another step's folder.
    """
    content, seal = (_content(folder / name) for name in (MANIFEST, SEAL))
    if seal != _seal(content).encode():
        raise DamagedError(f"{MANIFEST}: its SHA-256 is not the one in {SEAL}")
    values = json.loads(content)
    if values.pop("format") != FORMAT:
        raise DamagedError(f"{MANIFEST}: not of format {FORMAT}, the one this version reads")
    if str(values["step"]) != folder.name:
        raise DamagedError(f"{MANIFEST}: of step {values['step']}, in the folder of {folder.name}")
    values["tree"] = tuple(Leaf(name, tuple(shape), kind) for name, shape, kind in values["tree"])
    for files in ("files", "beginnings"):
        values[files] = {name: Digest(*pair) for name, pair in values[files].items()}
    return Manifest(**values)


def _content(path: pathlib.Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path.name}: {_why(error)}") from error


def _why(error: OSError) -> str:
    missing = isinstance(error, FileNotFoundError | NotADirectoryError)
    return "missing" if missing else f"cannot be read ({error.strerror})"


def check_files(folder: pathlib.Path, manifest: Manifest) -> None:
    """Read every file of a step and compare.

    Raises:
        DamagedError: names the first file that is missing or differs.
    """
    for name, written in manifest.files.items():
        _check(name, folder / name, written, size=None)
    for name, written in manifest.beginnings.items():
        _check(name, folder.parent / name, written, size=written.size)


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
    """Steps with a checkpoint, intact or not, oldest first; [] where there is no such folder.

    The folder of a step gets its name when its manifest is on disk: one without was damaged.
    """
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(name) for name in names if re.fullmatch(r"0|[1-9][0-9]*", name))
