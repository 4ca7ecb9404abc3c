"""Look at the checkpoints of a run, without touching them.

    python -m el_jax.checkpoints inspect FOLDER

FOLDER is a workdir or its checkpoints folder. Prints every step with its size and health (each file
is read and compared with the manifest), the arrays of the newest intact one, and the environment of
its bits besides the config: versions, commit, device, XLA flags, runs computed at once. The exit
code is 0 if all are intact, 2 if there is nothing to inspect, 4 if one is damaged.
"""

import json
import math
import pathlib
import sys
from collections.abc import Sequence

from el_jax.checkpoints import manifest
from el_jax.checkpoints.manifest import DamagedError, Manifest

INTACT, USAGE_ERROR, DAMAGED = 0, 2, 4  # as in launch, which would import jax


def _health(
    folder: pathlib.Path, rows: pathlib.Path | None, config_sha256: str | None
) -> tuple[Manifest | None, str]:
    """The manifest, if it can be read, and ``ok`` or a description of the fault."""
    written = None
    try:
        written = manifest.read(folder)
        manifest.check_files(folder, written)
        if rows is not None:
            manifest.check_rows(rows, written)
    except DamagedError as error:
        return written, f"DAMAGED  {error}"
    if config_sha256 not in (None, written.config_sha256):
        return written, "FOREIGN  it is not of the config in config.json"
    return written, "ok"


def _config_sha256(workdir: pathlib.Path) -> str | None:
    try:
        return manifest.config_hash(json.loads((workdir / "config.json").read_bytes()))
    except (OSError, ValueError):
        return None  # a checkpoints folder on its own


def _bytes(size: int | float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} GB"


def _print_tree(written: Manifest) -> None:
    size = sum(math.prod(leaf.shape) for leaf in written.tree)
    print(f"\nstep {written.step}: {len(written.tree)} arrays, {size:,} numbers")
    width = max(len(leaf.name) for leaf in written.tree)
    for leaf in written.tree:
        print(f"  {leaf.name:{width}}  {leaf.dtype} {list(leaf.shape)}")


def _print_origin(written: Manifest) -> None:
    groups = {f"runs at once, {what}": size for what, size in written.groups.items()}
    made_with = {**written.origin, **groups}
    width = max(map(len, made_with), default=0)
    for name, value in made_with.items():
        print(f"  {name:{width}}  {value}")


def inspect(folder: pathlib.Path) -> int:
    """Print contents and health of the checkpoints of a workdir.

    Args:
        folder: a workdir, or its checkpoints folder.

    Returns:
        The exit code, see above.
    """
    is_workdir = (folder / "checkpoints").is_dir()
    folder = folder / "checkpoints" if is_workdir else folder
    steps = manifest.committed_steps(folder)
    if not steps:
        print(f"error: {str(folder)!r}: no checkpoints there", file=sys.stderr)
        return USAGE_ERROR
    workdir = folder.absolute().parent  # not resolved: a link may lead to another disk
    rows = workdir / "metrics.jsonl"
    kept_rows = rows if is_workdir or rows.exists() else None
    config = _config_sha256(workdir)
    found = {step: _health(folder / str(step), kept_rows, config) for step in steps}
    print(folder)
    for step, (written, health) in found.items():
        size = f"{len(written.files):4} files  {_bytes(written.num_bytes):>8}" if written else ""
        print(f"  step {step:<9} {size:22}  {health}")
    for other in sorted(path.name for path in folder.iterdir() if not path.name.isdigit()):
        print(f"  {other}: being written, or left by a process that was killed")
    intact = [written for written, health in found.values() if written and health == "ok"]
    if intact:
        _print_tree(intact[-1])
        _print_origin(intact[-1])
    return INTACT if len(intact) == len(found) else DAMAGED


def main(argv: Sequence[str]) -> int:
    """Read the command line and inspect.

    Returns:
        The exit code.
    """
    if {"-h", "--help"} & set(argv):
        print(__doc__.strip())
        return INTACT
    if len(argv) != 2 or argv[0] != "inspect":
        print("error: call it as python -m el_jax.checkpoints inspect FOLDER", file=sys.stderr)
        return USAGE_ERROR
    try:
        return inspect(pathlib.Path(argv[1]))
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return USAGE_ERROR


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
