"""An experiment is a sub-folder with a run.py; its name is the folder's.

===============  ===================================================================================
``__init__.py``  a docstring: the question the experiment asks, and below it the source
``README.md``    the claim, the command, the cost, the number and its tolerance
``run.py``       ``run(scale: str, out: Path, shard: Shard) -> None``, which writes results.csv,
                 curves.csv and provenance.json of that part into ``out``; without ``shard`` it
                 can only be run whole
``plot.py``      ``plot(out: Path) -> Figure``, drawn from those files alone
``claims.py``    ``claims(results: DataFrame) -> list[Claim]``
===============  ===================================================================================

The files are imported only when needed, so that replotting does not import the training code.
"""

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from experiments.harness.claims import Claim, with_holm
from experiments.harness.shards import TABLES, WHOLE, Shard

COMMITTED_SCALES = ("cpu", "paper")
SCALES = ("smoke", "quick", *COMMITTED_SCALES)


class ExperimentError(ValueError):
    """A mistake that the person at the command line can put right; the message is one line."""


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One experiment, by its folder."""

    folder: Path

    @property
    def name(self) -> str:
        """The name on the command line."""
        return self.folder.name

    @property
    def question(self) -> str:
        """The question it asks, the first line of its docstring.

        Raises:
            ExperimentError: its package has no docstring.
        """
        return self._docstring()[0]

    @property
    def title(self) -> str:
        """The question, with the source below it in parentheses."""
        question, _, source = self._docstring()
        return f"{question} ({source.strip().removesuffix('.')})" if source else question

    def _docstring(self) -> tuple[str, str, str]:
        found = importlib.import_module(f"experiments.{self.name}").__doc__
        if not found:
            raise ExperimentError(f"{self.name}/__init__.py must ask a question in its docstring.")
        return found.strip().partition("\n")

    def run(self, scale: str, out: Path, shard: Shard = WHOLE) -> None:
        """Train and measure; write the three tables into ``out``.

        Raises:
            ExperimentError: there are no parts to run, or a table is missing afterwards.
            ShardError: there are more shards than parts.
        """
        run = self._load("run", "run")
        if "shard" in inspect.signature(run).parameters:
            run = functools.partial(run, shard=shard)
        elif not shard.is_whole:
            raise ExperimentError(f"{self.name} cannot be sharded: its run() takes no shard.")
        out.mkdir(parents=True, exist_ok=True)
        run(scale, out)
        for table in TABLES:
            if not (out / table).exists():
                raise ExperimentError(f"{self.name}/run.py wrote no {table} into {out}.")

    def plot(self, out: Path) -> Figure:
        """The figure of the tables in ``out``."""
        return self._load("plot", "plot")(out)

    def claims(self, results: pd.DataFrame) -> list[Claim]:
        """The experiment's claims, judged on results and corrected for their number."""
        return with_holm(self._load("claims", "claims")(results))

    def committed_folder(self, scale: str) -> Path:
        """The folder of the committed tables, at the cpu or the paper scale."""
        return self.folder / "paper" if scale == "paper" else self.folder

    def output_folder(self, scale: str, out: Path | None) -> Path:
        """The folder that a run writes into.

        Args:
            scale: the scale it runs at.
            out: the folder asked for; None for the committed one at the cpu and paper scales,
                runs/results/NAME-SCALE of the checkout, which git ignores, at the others.

        Raises:
            ExperimentError: a smoke or quick run would write among committed files.
        """
        if scale in COMMITTED_SCALES:
            return out or self.committed_folder(scale)
        if out is None:
            return self.folder.parents[1] / "runs" / "results" / f"{self.name}-{scale}"
        if out.resolve().is_relative_to(self.folder.resolve()):
            raise ExperimentError(
                f"--out={out} holds committed results; a {scale} run must write elsewhere."
            )
        return out

    def _load(self, part: str, function: str) -> Callable[..., Any]:
        if not (self.folder / f"{part}.py").exists():
            raise ExperimentError(f"{self.name} has no {part}.py.")
        module = importlib.import_module(f"experiments.{self.name}.{part}")
        if function not in vars(module):
            raise ExperimentError(f"{self.name}/{part}.py must define {function}().")
        return vars(module)[function]


def discover(root: Path) -> dict[str, Experiment]:
    """The experiments under ``root`` by name, sorted."""
    folders = sorted(path.parent for path in root.glob("*/run.py"))
    return {folder.name: Experiment(folder) for folder in folders}


def find(root: Path, name: str) -> Experiment:
    """One experiment by name.

    Raises:
        ExperimentError: no experiment has that name; the message lists all names.
    """
    experiments = discover(root)
    if name not in experiments:
        known = ", ".join(experiments) or "none"
        raise ExperimentError(f"no experiment {name!r}; there are: {known}.")
    return experiments[name]
