"""One page over all experiments: question, figure, claims with verdicts, provenance."""

import dataclasses
from pathlib import Path

from experiments.claims import Claim, Verdict
from experiments.discovery import COMMITTED_SCALES, TABLES, Experiment, ExperimentError, discover
from experiments.provenance import Provenance, read_provenance
from experiments.results import read_results

PREAMBLE = """# Results

Every number on this page is read from a committed `results.csv`, and every verdict is computed
from those numbers. A claim **holds** when the 95 % Student-t interval over seeds lies wholly on
the claimed side, **fails** when it lies wholly on the other side, and is *inconclusive*
otherwise; settings are compared seed by seed. *Ours* is mean ± standard error. The cpu scale is a
reduced setting that anyone can rerun; the paper scale is the published one. Losses are in nats.

This page is written by `python -m experiments report`.
"""


@dataclasses.dataclass(frozen=True)
class Measured:
    """The committed results of one experiment at one scale."""

    experiment: Experiment
    scale: str
    claims: list[Claim]
    provenance: Provenance


def write_report(root: Path) -> Path:
    """Write report.md into ``root`` from the committed results of every experiment under it.

    Returns:
        The path of the page.

    Raises:
        ExperimentError: there is no experiment.
        MalformedTableError: committed results cannot be read.
    """
    experiments = list(discover(root).values())
    if not experiments:
        raise ExperimentError(f"no experiment under {root}.")
    measured = {experiment.name: _measure(experiment) for experiment in experiments}
    parts = [PREAMBLE, _overview(experiments, measured)]
    for experiment in experiments:
        parts.append(_heading(experiment, has_results=bool(measured[experiment.name])))
        parts.extend(_section(results, root) for results in measured[experiment.name])
    path = root / "report.md"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _measure(experiment: Experiment) -> list[Measured]:
    found = []
    for scale in COMMITTED_SCALES:
        folder = experiment.committed_folder(scale)
        if all((folder / table).exists() for table in TABLES):
            claims = experiment.claims(read_results(folder / "results.csv"))
            provenance = read_provenance(folder / "provenance.json")
            found.append(Measured(experiment, scale, claims, provenance))
    return found


def _overview(experiments: list[Experiment], measured: dict[str, list[Measured]]) -> str:
    lines = [
        _row("experiment", "question", "scale", "hold", "fail", "inconclusive"),
        _row(*["---"] * 6),
    ]
    for experiment in experiments:
        link = f"[{experiment.name}](#{experiment.name})"
        for results in measured[experiment.name]:
            verdicts = [claim.verdict for claim in results.claims]
            counts = [str(verdicts.count(verdict)) for verdict in Verdict]
            lines.append(_row(link, experiment.title, results.scale, *counts))
        if not measured[experiment.name]:
            lines.append(_row(link, experiment.title, "not run yet", "", "", ""))
    return "\n".join(lines) + "\n"


def _heading(experiment: Experiment, *, has_results: bool) -> str:
    text = f"## {experiment.name}\n\n**{experiment.title}**"
    if (experiment.folder / "README.md").exists():
        text += f" ([what is measured and how]({experiment.name}/README.md))"
    return text + ("\n" if has_results else "\n\nNot run yet.\n")


def _section(results: Measured, root: Path) -> str:
    folder = results.experiment.committed_folder(results.scale).relative_to(root).as_posix()
    lines = [f"### {results.experiment.name}, {results.scale} scale", ""]
    if (root / folder / "figure.png").exists():
        lines += [f"![{results.experiment.title}]({folder}/figure.png)", ""]
    lines += [_row("claim", "paper", "ours", "verdict"), _row(*["---"] * 4)]
    lines += [_claim_row(claim) for claim in results.claims]
    lines += ["", _provenance_line(results.provenance, folder)]
    return "\n".join(lines) + "\n"


def _claim_row(claim: Claim) -> str:
    mark = "*" if claim.verdict is Verdict.INCONCLUSIVE else "**"
    evidence = "<br>".join(text for text in (claim.ours, claim.detail) if text)
    return _row(
        f"{claim.text} ({claim.source})",
        claim.paper_value,
        evidence,
        f"{mark}{claim.verdict.value}{mark}",
    )


def _provenance_line(provenance: Provenance, folder: str) -> str:
    hardware, versions = provenance.hardware, provenance.versions
    seconds = sum(provenance.wall_seconds.values())
    parts = [
        f"`{provenance.command}`",
        provenance.date,
        f"commit {provenance.commit[:7]}" + (" with local changes" if provenance.dirty else ""),
        f"{hardware['num_devices']} × {hardware['device_kind']}, {hardware['cpu_count']} CPU cores",
        _duration(seconds),
        ", ".join(f"{package} {version}" for package, version in sorted(versions.items())),
        f"[results]({folder}/results.csv), [curves]({folder}/curves.csv)",
    ]
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _row(*cells: str) -> str:
    """A row of a Markdown table; a bar inside a cell would end it."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
