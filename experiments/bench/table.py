"""Rows as a table for the terminal and for the README."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.bench.rows import MET, MISSED, NO_GOAL, Row

START, END = "<!-- table: start -->", "<!-- table: end -->"
HEADINGS = ("benchmark", "case", "quantity", "value (95 % interval)", "goal", "verdict")
_STYLES = {MET: "bold green", MISSED: "bold red"}


def value_text(row: Row) -> str:
    """The number with its interval, three significant digits."""
    if row.value is None:
        return ""
    text = _digits(row.value)
    if row.low is None or row.high is None:
        return text
    return f"{text} ({_digits(row.low)} to {_digits(row.high)})"


def _digits(number: float) -> str:
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:,.0f}"


def cells(row: Row) -> tuple[str, ...]:
    """A row as text; no verdict where there is no goal."""
    verdict = "" if row.verdict == NO_GOAL else row.verdict
    return row.benchmark, row.case, row.quantity, value_text(row), row.goal, verdict


def summary(rows: Sequence[Row]) -> str:
    """Counts of the goals met, missed, not decided or not measured."""
    counts = Counter(row.verdict.split(":")[0] for row in rows if row.goal)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "no goal"


def print_rows(console: Console, rows: Sequence[Row]) -> None:
    """The table on the terminal."""
    table = Table(*HEADINGS)
    for row in rows:
        *front, verdict = map(escape, cells(row))
        table.add_row(*front, f"[{_STYLES.get(row.verdict, 'default')}]{verdict}[/]")
    console.print(table)


def markdown(rows: Sequence[Row], provenance: Path) -> str:
    """The table as Markdown, and under it the machines and versions of the measurements."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *map(_emphasised, rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"Goals: {summary(rows)}.\n\n{table}\n\n{origin(provenance)}\n"


def _emphasised(row: Row) -> tuple[str, ...]:
    *front, goal, verdict = cells(row)
    return (*front, goal.replace("<", "&lt;"), f"**{verdict}**" if verdict == MISSED else verdict)


def origin(provenance: Path) -> str:
    """Machines, versions, commits and dates; benchmarks that agree in all of these share a line."""
    described: dict[str, list[str]] = {}
    for name, fields in json.loads(provenance.read_text(encoding="utf-8")).items():
        hardware, versions = fields["hardware"], fields["versions"]
        device = "" if hardware["platform"] == "cpu" else f"{hardware['device_kind']}, "
        text = (
            f"{fields['date']}, commit {fields['commit'][:7]}"
            f"{' with local changes' if fields['dirty'] else ''}, {device}"
            f"{hardware['cpu_count']} cores of {hardware['processor']}, "
            f"Python {versions['python']}, jax {versions['jax']}"
        )
        described.setdefault(text, []).append(name)
    return "\n".join(f"- {', '.join(names)}: {text}" for text, names in described.items())


def put_into(readme: str, table: str) -> str:
    """The page with the table between its markers.

    Raises:
        ValueError: the markers are not there, once each and in this order.
    """
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end) or START in rest or END in after:
        raise ValueError(f"the README must have {START} and then {END}, once each")
    return f"{before}{START}\n\n{table}\n{END}{after}"
