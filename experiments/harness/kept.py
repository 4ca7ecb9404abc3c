"""Finished parts of a sweep, kept until all are done, so that a killed sweep can go on.

    runs/experiments/COMMIT/CONFIG/metrics.jsonl    the rows, written as they come
    runs/experiments/COMMIT/CONFIG/seconds          the time it took, and a SHA-256 of both

The sum is written last. A part without one, or that differs from it, is trained again.
"""

import hashlib
import json
import sys
from pathlib import Path

from el_jax import build
from el_jax.checkpoint_step import config_hash
from el_jax.process import arithmetic
from el_jax.process.environment import checkout_state
from el_jax.process.files import write_durably
from el_jax.training.sinks import History, read_rows

KEPT = Path(__file__).parents[2] / "runs" / "experiments"
ROWS, _SEAL = "metrics.jsonl", "seconds"


def folder_of(config: build.Config) -> Path | None:
    """The folder in which the runs of a config are kept; None for uncommitted code.

    Its name depends on commit, config and XLA flags, so that no other numbers are read from it.
    """
    commit, dirty = checkout_state()
    if dirty:
        return None
    resolved = json.loads(config.to_json_best_effort())
    return KEPT / commit[:12] / config_hash(resolved | {"arithmetic": arithmetic.record()})[:12]


def read(folder: Path) -> tuple[History, float] | None:
    """The rows of a finished part and the seconds it took; None where it must be trained.

    A damaged part is reported in one line on standard error.
    """
    if not (folder / _SEAL).exists():
        return None
    seconds, _, written = (folder / _SEAL).read_text(errors="replace").strip().partition(" ")
    if not (folder / ROWS).exists() or written != _sum(folder, seconds):
        print(f"warning: {folder} is damaged; it is trained again", file=sys.stderr, flush=True)
        (folder / _SEAL).unlink()
        return None
    return read_rows(folder / ROWS), float(seconds)


def seal(folder: Path, seconds: float) -> None:
    """Mark a part as finished, when all of its rows are written.

    Raises:
        OSError: the files cannot be written.
    """
    text = f"{seconds:.1f}"
    write_durably(folder / _SEAL, f"{text} {_sum(folder, text)}\n")


def _sum(folder: Path, seconds: str) -> str:
    return hashlib.sha256(seconds.encode() + b"\n" + (folder / ROWS).read_bytes()).hexdigest()
