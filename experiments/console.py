"""Terminal output of a finished run: settings against key metrics, a verdict for each claim."""

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from el_jax.plots.tables import SeedTable
from experiments.claims import Claim, Verdict
from experiments.discovery import Experiment
from experiments.statistics import describe_mean, describe_seeds

VERDICT_STYLES = {
    Verdict.HOLDS: "bold green",
    Verdict.FAILS: "bold red",
    Verdict.INCONCLUSIVE: "bold yellow",
}
MAX_COLUMNS = 6
PIPE_WIDTH = 140  # characters a line where there is no terminal to ask


def make_console() -> Console:
    """A console on standard output, wide enough for the tables when that is a file."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def key_metrics(results: SeedTable, limit: int = MAX_COLUMNS) -> list[str]:
    """The metrics shown first: test before train, hard before easy, accuracy before the rest."""

    def rank(metric: str) -> tuple[bool, bool, bool, str]:
        words = metric.split("_")
        return "test" not in words, "hard" not in words, "accuracy" not in words, metric

    return sorted({metric for _, metric in results}, key=rank)[:limit]


def print_results(console: Console, title: str, results: SeedTable) -> None:
    """A table of settings against key metrics, mean ± standard error over seeds."""
    metrics = key_metrics(results)
    table = Table(title=escape(title), title_justify="left", title_style="bold")
    table.add_column("setting")
    for metric in metrics:
        table.add_column(metric.replace("_", " "), justify="right")
    table.add_column("seeds", justify="right")
    for setting in sorted({setting for setting, _ in results}):
        entries = [results.get((setting, metric)) for metric in metrics]
        cells = [describe_mean(entry) if entry else "" for entry in entries]
        counts = {len(entry.seeds) for (s, _), entry in results.items() if s == setting}
        seeds = describe_seeds(sorted(counts)).split(" ")[0]
        table.add_row(escape(setting), *cells, seeds)
    console.print(table)
    if hidden := len({metric for _, metric in results}) - len(metrics):
        console.print(f"and {hidden} more metrics in results.csv")


def print_claims(console: Console, claims: Sequence[Claim]) -> None:
    """A line per claim: verdict, claim, and the numbers it rests on."""
    for claim in claims:
        style = VERDICT_STYLES[claim.verdict]
        console.print(f"[{style}]{claim.verdict.value:12}[/] {escape(claim.text)}")
        console.print(f"{'':12} {escape(claim.detail)}", style="dim")


def print_listing(console: Console, experiments: Iterable[Experiment]) -> None:
    """A line per experiment: name and question."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for experiment in experiments:
        table.add_row(experiment.name, escape(experiment.title))
    console.print(table)
