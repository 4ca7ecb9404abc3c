"""Results for readers: tables and verdicts on a terminal, and report.md over all experiments."""

import dataclasses
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.harness.discovery import TABLES, Experiment, ExperimentError, discover
from experiments.harness.judging import Judged, Verdict
from experiments.harness.names import name_of, shared_factors
from experiments.harness.provenance import Provenance, read_provenance
from experiments.harness.statistics import describe_mean, describe_number, describe_seeds
from experiments.harness.tables import cells, exactly, read_table, select, values_of

VERDICT_STYLES = {
    Verdict.HOLDS: "bold green",
    Verdict.FAILS: "bold red",
    Verdict.SMALL: "bold cyan",
    Verdict.UNDECIDED: "bold yellow",
    Verdict.NOT_MEASURED: "dim",
}
MAX_COLUMNS = 6
PIPE_WIDTH = 140  # characters per line if there is no terminal
PREAMBLE = """# Results

Every number on this page is read from a committed `results.csv`, and every verdict is computed
from those numbers. A claim **holds** when the 95 % Student-t interval over seeds lies wholly on
the claimed side, **fails** when it lies wholly on the other side, and is *undecided* otherwise;
settings are compared seed by seed. A difference of shares is **too small to matter** when it is
neither and its whole interval is nearer to 0 than .05, or what the claim names. Some claims are
judged by all changes of sign, or by bets that may be looked at after every seed. A verdict stands
only after Holm's correction for the number of claims of its experiment: *Holm p* is the adjusted p
value, at most .05, doubled where seeds were added after a first look. If all seeds give the same
number, its p value is that of a sign test. *Ours* is mean ± standard error. Timings have a median
and its exact interval instead, and claims on every run none; neither is corrected. The cpu scale is
a reduced setting that anyone can rerun; the paper scale is the published one. Losses are in nats.

This page is written by `python -m experiments report`.
"""


# ── on a terminal ─────────────────────────────────────────────────────────────────────────────────


def make_console() -> Console:
    """A console on standard output, wide enough for the tables if that is a file."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def key_metrics(results: pd.DataFrame) -> list[str]:
    """The metrics shown first: test before train, hard before easy, accuracy before the rest.

    Of two similar ones, the one over more strings comes first.
    """

    def rank(metric: str) -> tuple[bool, bool, bool, bool, str]:
        words = metric.split("_")
        first = ("test", "hard", "accuracy", "precise")
        test, hard, accuracy, precise = (word not in words for word in first)
        return test, hard, accuracy, precise, metric

    return sorted(results["metric"].unique(), key=rank)[:MAX_COLUMNS]


def print_results(console: Console, title: str, results: pd.DataFrame) -> None:
    """Print a table of settings by key metrics, mean ± standard error over seeds.

    If settings share few metrics, every number has its own line instead.
    """
    settings = cells(results, {})
    measured = {m: len(cells(results, {}, m)) for m in results["metric"].unique()}
    if 2 * max(measured.values()) < len(settings):
        _print_long(console, title, results)
        return
    metrics = key_metrics(results)
    common = shared_factors(settings)
    if common:
        title = f"{title}; all with {name_of(common)}"
    table = Table(title=escape(title), title_justify="left", title_style="bold")
    table.add_column("setting")
    for metric in metrics:
        table.add_column(metric.replace("_", " "), justify="right")
    table.add_column("seeds", justify="right")
    for setting in settings:
        entries = [values_of(results, exactly(results, setting), metric) for metric in metrics]
        shown = [
            "" if entry.isna().all() else describe_mean(entry.dropna()) + _known(entry, " ({})")
            for entry in entries
        ]
        counts = select(results, exactly(results, setting)).groupby("metric").size()
        seeds = describe_seeds(list(counts)).split(" ")[0]
        own = {factor: level for factor, level in setting.items() if factor not in common}
        table.add_row(escape(name_of(own)), *shown, seeds)
    console.print(table)
    if hidden := len(measured) - len(metrics):
        console.print(f"and {hidden} more metrics in results.csv")


def _print_long(console: Console, title: str, results: pd.DataFrame) -> None:
    table = Table("setting", "metric", title=escape(title), title_justify="left")
    for heading in ("mean", "seeds"):
        table.add_column(heading, justify="right")
    for setting in cells(results, {}):
        rows = select(results, exactly(results, setting))
        for metric, values in rows.groupby("metric")["value"]:
            table.add_row(
                escape(name_of(setting)),
                escape(metric),
                describe_number(values.mean()),
                _known(values, "{}") or str(len(values)),
            )
    console.print(table)


def _known(values: pd.Series, form: str) -> str:
    """The number of seeds that have a number, such as ``2 of 3``; empty if all have."""
    return form.format(f"{values.count()} of {len(values)}") if values.hasnans else ""


def print_claims(console: Console, judged: Sequence[Judged]) -> None:
    """Print a line per claim: verdict, claim, and the numbers behind it."""
    for claim, outcome in judged:
        style = VERDICT_STYLES[outcome.verdict]
        console.print(f"[{style}]{outcome.verdict.value:19}[/] {escape(claim.text)}")
        console.print(f"{'':19} {escape(outcome.detail)}", style="dim")


def print_listing(console: Console, experiments: Iterable[Experiment]) -> None:
    """Print a line per experiment: name and question."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for experiment in experiments:
        table.add_row(experiment.name, escape(experiment.title))
    console.print(table)


# ── report.md ─────────────────────────────────────────────────────────────────────────────────────


@dataclasses.dataclass(frozen=True)
class Committed:
    """The committed results of one experiment at one scale."""

    experiment: Experiment
    scale: str
    judged: list[Judged]
    provenance: Provenance


def write_report(root: Path) -> Path:
    """Write report.md into ``root``; see :func:`report_of`.

    Returns:
        The path of the page.
    """
    path = root / "report.md"
    path.write_text(report_of(root), encoding="utf-8")
    return path


def report_of(root: Path) -> str:
    """The text of report.md, from the committed results of every experiment under ``root``.

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
    return "\n".join(parts)


def _measure(experiment: Experiment) -> list[Committed]:
    found = []
    for scale in experiment.committed_scales:
        folder = experiment.committed_folder(scale)
        if all((folder / table).exists() for table in TABLES):
            provenance = read_provenance(folder / "provenance.json")
            results = read_table(folder / "results.csv")
            judged = experiment.judged(results, provenance)
            found.append(Committed(experiment, scale, judged, provenance))
    return found


def _overview(experiments: list[Experiment], measured: dict[str, list[Committed]]) -> str:
    lines = [
        _row(
            "experiment",
            "question",
            "scale",
            "hold",
            "fail",
            "too small",
            "undecided",
            "not measured",
        ),
        _row(*["---"] * 8),
    ]
    for experiment in experiments:
        link = f"[{experiment.name}](#{experiment.name})"
        for results in measured[experiment.name]:
            verdicts = [outcome.verdict for _, outcome in results.judged]
            counts = [str(verdicts.count(verdict)) for verdict in Verdict]
            lines.append(_row(link, experiment.title, results.scale, *counts))
        if not measured[experiment.name]:
            lines.append(_row(link, experiment.title, "not run yet", *[""] * len(Verdict)))
    return "\n".join(lines) + "\n"


def _heading(experiment: Experiment, *, has_results: bool) -> str:
    text = f"## {experiment.name}\n\n**{experiment.title}**"
    if (experiment.folder / "README.md").exists():
        text += f" ([what is measured and how]({experiment.name}/README.md))"
    return text + ("\n" if has_results else "\n\nNot run yet.\n")


def _section(results: Committed, root: Path) -> str:
    folder = results.experiment.committed_folder(results.scale).relative_to(root).as_posix()
    lines = [f"### {results.experiment.name}, {results.scale} scale", ""]
    if (root / folder / "figure.png").exists():
        lines += [f"![{results.experiment.title}]({folder}/figure.png)", ""]
    lines += [_row("claim", "paper", "ours", "verdict"), _row(*["---"] * 4)]
    lines += [_claim_row(one) for one in results.judged]
    tables = f"[results]({folder}/results.csv), [curves]({folder}/curves.csv)"
    lines += ["", f"{_origin(results.provenance)} · {tables}"]
    for part in results.provenance.earlier:
        number = len(part.wall_seconds)
        noun = "setting" if number == 1 else "settings"
        lines += ["", f"{number} {noun} measured earlier: {_origin(part)}"]
    return "\n".join(lines) + "\n"


def _claim_row(judged: Judged) -> str:
    claim, outcome = judged
    mark = "*" if outcome.verdict in (Verdict.UNDECIDED, Verdict.NOT_MEASURED) else "**"
    evidence = "<br>".join(text for text in (outcome.ours, outcome.detail) if text)
    return _row(
        f"{claim.text} ({claim.source})",
        claim.paper,
        evidence,
        f"{mark}{outcome.verdict.value}{mark}",
    )


def _origin(provenance: Provenance) -> str:
    hardware, versions = provenance.hardware, provenance.versions
    seconds = sum(provenance.wall_seconds.values())
    parts = [
        f"`{provenance.command}`",
        provenance.date,
        f"commit {provenance.commit[:7]}" + (" with local changes" if provenance.dirty else ""),
        f"{hardware['num_devices']} × {hardware['device_kind']}, {hardware['cpu_count']} CPU cores"
        + (f" of {hardware['processor']}" if "processor" in hardware else ""),
        f"{_duration(seconds)} of work, added up over studies that ran at the same time",
        ", ".join(f"{package} {version}" for package, version in sorted(versions.items())),
    ]
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _row(*cells: str) -> str:
    """A row of a Markdown table, with bars escaped, since they would end a cell."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
