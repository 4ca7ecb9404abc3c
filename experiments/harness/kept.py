"""Finished parts of a sweep, kept until all are done, so a killed sweep can resume.

A part is a file, runs/experiments/COMMIT/CONFIG.json, written whole or not at all.
"""

import json
from pathlib import Path

import numpy as np

from el_jax import build
from el_jax.checkpoint_step import config_hash
from el_jax.process.environment import checkout_state, hardware, versions, xla_flags
from el_jax.process.files import write_durably
from el_jax.process.imports import files_in, fingerprints
from el_jax.training.sinks import History

KEPT = Path(__file__).parents[2] / "runs" / "experiments"


def path_of(config: build.Config) -> Path | None:
    """The file that keeps the runs of a config; None for uncommitted code.

    Its name depends on commit, config, hardware, XLA flags, versions, and the content of the files
    that its task and ``init_from`` name, so no other numbers are read from it.
    """
    commit, dirty = checkout_state()
    if dirty:
        return None
    resolved = json.loads(config.to_json_best_effort())
    read = {"task": resolved["task"], "init_from": resolved.get("train", {}).get("init_from")}
    beside = {
        "XLA_FLAGS": xla_flags(),
        "hardware": hardware(),
        "versions": versions(),
        "files": fingerprints(files_in(read)),
    }
    name = config_hash(resolved | beside)[:12]
    return KEPT / commit[:12] / f"{name}.json"


def read(path: Path) -> tuple[History, float] | None:
    """The rows of a finished part and the seconds it took; None if it must be trained."""
    if not path.exists():
        return None
    part, history = json.loads(path.read_text()), History()
    for step, row in part["rows"]:
        history.write(step, {name: np.array(values) for name, values in row.items()})
    return history, part["seconds"]


def write(path: Path, history: History, seconds: float) -> None:
    """Keep a finished part.

    Raises:
        OSError: the file cannot be written.
    """
    rows = [
        (step, {name: np.asarray(values).tolist() for name, values in row.items()})
        for step, row in zip(history.steps, history.rows, strict=True)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_durably(path, json.dumps({"seconds": seconds, "rows": rows}))
