"""Every goal and what was measured of it, on one scale: over the goal's bound."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from el_jax.plots import add_legend, add_question, new_figure
from experiments.bench.claims import Judged, judge_goals
from experiments.harness.claims import Verdict
from experiments.harness.figures import decimal
from experiments.harness.provenance import read_provenance
from experiments.harness.statistics import Interval, describe_number, median_interval
from experiments.harness.tables import read_results, values_of

COPY_TASK = "pytorch: GPT-NeoX 3L/32, 8x55 tokens, 1 asked in each"
MARKS = {  # colour and marker of a verdict, and its name
    Verdict.HOLDS: ("#009e73", "o", "met"),
    Verdict.INCONCLUSIVE: ("#8c8c8c", "D", "not decided"),
    Verdict.FAILS: ("#d55e00", "X", "missed"),
}


def plot(out: Path) -> Figure:
    """A line for each goal, and below it the cases it is measured in."""
    results = read_results(out / "results.csv")
    judged = list(judge_goals(results, read_provenance(out / "provenance.json").not_measured))
    lines = _lines(judged)
    figure, axes = new_figure(size=(7.6, 1.8 + 0.15 * len(lines)))
    ax = axes[0, 0]
    add_question(figure, answer(results, judged))
    for place, line in enumerate(lines):
        if isinstance(line, Judged) and not line.claim.detail.startswith("not measured"):
            _draw(ax, place, line, _interval(results, line))
    _write_names(ax, lines, results)
    ax.axvline(1.0, color="black", linewidth=1.2, zorder=1)
    ax.annotate("goal", (1.0, 1.0), xycoords=ax.get_xaxis_transform(), ha="center", va="bottom")
    ax.set_xlim(0.0, max(1.3, ax.get_xlim()[1]))
    ax.set_xlabel("measured / goal (goal / measured where more is better)")
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="", label=name)
        for colour, marker, name in MARKS.values()
    ]
    note = (
        "left of the line a goal is met; dots: median over rounds of timing, bars: its 95 % "
        "interval;\nwithout a bar: counted, or measured once"
    )
    add_legend(figure, handles, num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame, judged: Sequence[Judged]) -> str:
    """The number of goals that are met, and the time of an update of the copy task."""
    verdicts = [line.claim.verdict for line in judged]
    missed = verdicts.count(Verdict.FAILS)
    said = (
        f"{verdicts.count(Verdict.HOLDS)} of {len(verdicts)} speed goals are met, "
        f"{missed or 'none'} {'are' if missed > 1 else 'is'} missed"
    )
    ratios = values_of(results, COPY_TASK, "update / PyTorch")
    if ratios.empty:
        return said
    took = decimal(float(ratios.median()))
    return f"{said}:\nan update of the copy task takes {took} of PyTorch's time"


def _lines(judged: Sequence[Judged]) -> list[str | Judged]:
    """The goals, each followed by its cases."""
    lines: list[str | Judged] = []
    for line in judged:
        if line.text not in lines:
            lines.append(line.text)
        lines.append(line)
    return lines


def _interval(results: pd.DataFrame, line: Judged) -> Interval:
    return median_interval(values_of(results, line.setting, line.goal.quantity))


def _draw(ax: Axes, place: int, line: Judged, interval: Interval) -> None:
    colour, marker, _ = MARKS[line.claim.verdict]
    ax.plot(
        line.goal.of_bound(interval.mean), place, marker, color=colour, markersize=4.5, zorder=3
    )
    if np.isfinite(interval.low):
        ends = [line.goal.of_bound(end) for end in (interval.low, interval.high)]
        ax.plot(ends, [place, place], color=colour, linewidth=2.2, solid_capstyle="butt")


def _write_names(ax: Axes, lines: Sequence[str | Judged], results: pd.DataFrame) -> None:
    """A goal above its cases; their names on the left, their numbers on the right."""
    cases = {place: line for place, line in enumerate(lines) if isinstance(line, Judged)}
    for place, line in enumerate(lines):
        if isinstance(line, str):
            box = {"facecolor": "white", "linewidth": 0, "pad": 0.5}
            ax.text(0.02, place, line, va="center", fontsize=7.5, fontweight="bold", bbox=box)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ax.set_yticks([*cases], [line.case for line in cases.values()])
    ax.tick_params(axis="y", labelsize=7, length=0)
    ax.grid(visible=False, axis="y")
    right = ax.secondary_yaxis("right")
    right.set_yticks([*cases], [_number(results, line) for line in cases.values()])
    right.tick_params(labelsize=7, length=0)
    right.spines["right"].set_visible(False)


def _number(results: pd.DataFrame, line: Judged) -> str:
    if line.claim.detail.startswith("not measured"):
        return line.claim.detail
    interval = _interval(results, line)
    median = describe_number(interval.mean)
    if not np.isfinite(interval.low):
        return median
    return f"{median} ({describe_number(interval.low)} to {describe_number(interval.high)})"
