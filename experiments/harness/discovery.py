"""An experiment is a sub-folder with a run.py; its name is the folder's.

===============  ===================================================================================
``__init__.py``  a docstring: the experiment's question, and below it the source; and
                 ``SCALES`` where these are not the usual ones, and ``ONLY``, a factor by whose
                 levels some settings can be measured again
``README.md``    answer, source, regime, results, limits, protocol, command and its cost
``run.py``       ``run(name: str, scale: str, out: Path) -> None``, which writes results.csv,
                 curves.csv and provenance.json into ``out``: ``seeds.run_seeds`` or
                 ``sweep.run_sweep`` with the experiment's own arguments
``plot.py``      ``plot(results, curves) -> Figure``, drawn from those tables alone; it names the
                 ones that it needs, ``provenance`` among them
``claims.py``    ``CLAIMS``, a list of claims, or one for each scale by its name (without names,
                 smoke and pilot have none); with
                 ``derived(results) -> DataFrame``, they are judged on its return value
===============  ===================================================================================

The files are imported only when needed, so that replotting does not import the training code.
"""

import dataclasses
import difflib
import importlib
import inspect
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from el_jax.process.environment import checkout_state
from experiments.harness.joined import TABLES, replace_levels
from experiments.harness.judging import Claim, Judged, Verdict, judged
from experiments.harness.provenance import Provenance, read_provenance
from experiments.harness.tables import read_table

SCALES = ("smoke", "cpu")  # of experiments without their own
DRAFTS = ("smoke", "quick", "pilot")  # scales whose tables are not committed
KNOWN_SCALES = (*SCALES, "quick", "pilot", "paper", "gpu", "pretrained")


class ExperimentError(ValueError):
    """A mistake that the user can correct at the command line; the message is one line."""


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One experiment, identified by its folder."""

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
        found = self._package().__doc__
        if not found:
            raise ExperimentError(f"{self.name}/__init__.py must ask a question in its docstring.")
        return found.strip().partition("\n")

    @property
    def scales(self) -> tuple[str, ...]:
        """The scales it can run at, from the smallest."""
        return vars(self._package()).get("SCALES", SCALES)

    @property
    def committed_scales(self) -> tuple[str, ...]:
        """The scales whose tables are committed."""
        return tuple(scale for scale in self.scales if scale not in DRAFTS)

    def run(self, scale: str, out: Path, only: Sequence[str] = ()) -> None:
        """Train and measure; write the three tables into ``out``.

        Args:
            scale: one of its scales.
            out: the folder, made if need be.
            only: levels of its ``ONLY`` factor to measure again; the other settings in ``out``
                stay. Empty for all settings.

        Raises:
            ExperimentError: it has no ``ONLY``, ``out`` holds another scale that ``only`` would
                keep, or a table is missing afterwards.
        """
        run = partial(self._load("run", "run"), self.name, scale)
        factor = vars(self._package()).get("ONLY")
        if only and factor is None:
            raise ExperimentError(f"{self.name} cannot run in part: it has no ONLY.")
        out.mkdir(parents=True, exist_ok=True)
        if only:
            self._check_scale(scale, out)
            with tempfile.TemporaryDirectory() as folder:
                run(Path(folder), only={factor: only})
                replace_levels(str(factor), only, Path(folder), out)
        else:
            run(out)
        for table in TABLES:
            if not (out / table).exists():
                raise ExperimentError(f"{self.name}/run.py wrote no {table} into {out}.")

    def run_until_decided(
        self, scale: str, out: Path, max_seeds: int
    ) -> Iterator[tuple[int, list[Judged]]]:
        """Add a seed per core and judge the claims, until all are decided.

        Finished runs are kept and not trained again, even after a kill.

        Yields:
            The number of seeds, and the verdicts on their results.

        Raises:
            ExperimentError: a claim may not be checked early, its run() takes no number of seeds,
                or the checkout has uncommitted changes, so no run would be kept.
        """
        run = self._load("run", "run")
        if "seeds" not in inspect.signature(run).parameters:
            raise ExperimentError(f"{self.name}: its run() takes no number of seeds.")
        claims = self.claims(scale)
        if fixed := [claim.text for claim in claims if not claim.anytime]:
            raise ExperimentError(
                f"{self.name}: {fixed[0]!r} may not be looked at early; its test must be anytime."
            )
        if max_seeds < 1:
            raise ExperimentError(f"--max-seeds={max_seeds}: must be at least 1.")
        if not claims:
            raise ExperimentError(f"--until-decided: {self.name} has no claim at scale {scale}.")
        if checkout_state()[1]:
            raise ExperimentError("--until-decided: commit first, since there are changes.")
        out.mkdir(parents=True, exist_ok=True)
        step = os.cpu_count() or 1
        for seeds in [*range(step, max_seeds, step), max_seeds]:
            run(self.name, scale, out, seeds=seeds)
            said = self.judged(
                read_table(out / "results.csv"), read_provenance(out / "provenance.json")
            )
            yield seeds, said
            if not any(outcome.verdict is Verdict.UNDECIDED for _, outcome in said):
                return

    def _check_scale(self, scale: str, out: Path) -> None:
        """Raise before measuring if the results could not be combined with those in ``out``."""
        path = out / "provenance.json"
        if path.exists() and (held := read_provenance(path).scale) != scale:
            raise ExperimentError(f"{out} holds the {held} scale; --only must run at the same.")

    def studies(self, scale: str) -> Sequence[Any]:
        """The studies (see ``harness.studies``) that it trains at a scale.

        Raises:
            ExperimentError: it has no such scale, or trains no studies.
        """
        if scale not in self.scales:
            raise ExperimentError(self._no_scale(scale))
        module = importlib.import_module(f"experiments.{self.name}.run")
        if "studies" not in vars(module):
            raise ExperimentError(f"{self.name} trains no studies to plan.")
        return module.studies(scale)

    def plot(self, out: Path) -> Figure:
        """Draw the figure from the tables in ``out`` that its ``plot`` names as parameters."""
        plot = self._load("plot", "plot")
        return plot(**{name: _read(out, name) for name in inspect.signature(plot).parameters})

    def claims(self, scale: str) -> Sequence[Claim]:
        """The claims at a scale."""
        claims = self._load("claims", "CLAIMS")
        if isinstance(claims, Mapping):
            return claims.get(scale, ())
        return () if scale in ("smoke", "pilot") else claims

    def judged(self, results: pd.DataFrame, provenance: Provenance) -> list[Judged]:
        """The experiment's claims, judged on results and corrected for their number."""
        claims = self.claims(provenance.scale)
        module = vars(importlib.import_module(f"experiments.{self.name}.claims"))
        derived, looks = module.get("derived"), module.get("LOOKS", {}).get(provenance.scale, 1)
        table = results if derived is None else derived(results)
        return judged(claims, table, provenance.not_measured, looks)

    def committed_folder(self, scale: str) -> Path:
        """The folder of the committed tables of a scale: the experiment's own at the cpu scale."""
        return self.folder if scale == "cpu" else self.folder / scale

    def output_folder(self, scale: str, out: Path | None) -> Path:
        """The folder that a run writes into.

        Args:
            scale: the scale it runs at.
            out: the folder requested; None for the committed one, or at the smoke, quick and pilot
                scales for runs/results/NAME-SCALE of the checkout, which git ignores.

        Raises:
            ExperimentError: it has no such scale, or a smoke, quick or pilot run would write
                among committed files.
        """
        if scale not in self.scales:
            raise ExperimentError(self._no_scale(scale))
        if scale not in DRAFTS:
            return out or self.committed_folder(scale)
        if out is None:
            return self.folder.parents[1] / "runs" / "results" / f"{self.name}-{scale}"
        if out.resolve().is_relative_to(self.folder.resolve()):
            raise ExperimentError(
                f"--out={out} holds committed results; a {scale} run must write elsewhere."
            )
        return out

    def _no_scale(self, scale: str) -> str:
        return f"{self.name} has no {scale} scale; it has {', '.join(self.scales)}."

    def _package(self) -> ModuleType:
        return importlib.import_module(f"experiments.{self.name}")

    def _load(self, part: str, name: str) -> Any:
        if not (self.folder / f"{part}.py").exists():
            raise ExperimentError(f"{self.name} has no {part}.py.")
        module = importlib.import_module(f"experiments.{self.name}.{part}")
        if name not in vars(module):
            raise ExperimentError(f"{self.name}/{part}.py must define {name}.")
        return vars(module)[name]


def _read(out: Path, table: str) -> pd.DataFrame | Provenance:
    if table == "provenance":
        return read_provenance(out / "provenance.json")
    return read_table(out / f"{table}.csv")


def discover(root: Path) -> dict[str, Experiment]:
    """The experiments under ``root`` by name, sorted."""
    folders = sorted(path.parent for path in root.glob("*/run.py"))
    return {folder.name: Experiment(folder) for folder in folders}


def find(root: Path, name: str) -> Experiment:
    """Find an experiment by name.

    Raises:
        ExperimentError: no experiment has that name; the message lists all names.
    """
    experiments = discover(root)
    if name not in experiments:
        known = ", ".join(experiments) or "none"
        if (root / name).is_dir():
            raise ExperimentError(f"{root / name} has no run.py; an experiment measures there.")
        close = difflib.get_close_matches(name, experiments, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ExperimentError(f"no experiment {name!r}; {hint}there are: {known}.")
    return experiments[name]
