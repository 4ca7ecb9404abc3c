"""Made-up experiments, imported as if they were real ones, and made-up tables."""

import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd

import experiments
from experiments.harness.tables import curves_frame, results_frame


def make(folder: Path, names: tuple[str, ...], files: dict[str, str], monkeypatch) -> Path:
    """Write the same files into a folder per name; return the folder that holds them."""
    root = folder / "experiments"
    for name in names:
        (root / name).mkdir(parents=True)
        for file, text in files.items():
            (root / name / file).write_text(textwrap.dedent(text), encoding="utf-8")
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(root)])
    forget(*names)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # files change within a second
    return root


def forget(*names: str) -> None:
    """Forget what was imported, since files were rewritten."""
    for module in list(sys.modules):
        if module.startswith(tuple(f"experiments.{name}" for name in names)):
            del sys.modules[module]
    for name in names:
        vars(experiments).pop(name, None)


def results_of(table: dict[tuple[str, str], np.ndarray]) -> pd.DataFrame:
    """Results from the values of seeds 0, 1, ... by setting and metric."""
    return results_frame(
        (setting, seed, metric, value)
        for (setting, metric), values in table.items()
        for seed, value in enumerate(values)
    )


def curves_of(table: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]) -> pd.DataFrame:
    """Curves from steps ``[S]`` and values ``[R, S]`` by setting and metric."""
    return curves_frame(
        (setting, seed, step, metric, value)
        for (setting, metric), (steps, rows) in table.items()
        for seed, row in enumerate(rows)
        for step, value in zip(steps, row, strict=True)
    )
