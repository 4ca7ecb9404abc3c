"""Made-up experiments, imported as if they were real ones, and made-up tables."""

import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

import experiments
from experiments.harness.tables import Where, tidy


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


def table_of(entries: Iterable[tuple[Where, str, Sequence[float]]]) -> pd.DataFrame:
    """Results from factors, a metric, and its values of seeds 0, 1, ..."""
    return tidy(
        {**factors, "seed": seed, "metric": metric, "value": value}
        for factors, metric, values in entries
        for seed, value in enumerate(values)
    )


def results_of(table: dict[tuple[str, str], Sequence[float]]) -> pd.DataFrame:
    """Results from the values of seeds 0, 1, ... by ``name``, the only factor, and metric."""
    return table_of(({"name": name}, metric, values) for (name, metric), values in table.items())
