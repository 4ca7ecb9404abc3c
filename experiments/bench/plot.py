"""Every goal and its measurements, on one scale: the value over the goal's bound."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend
from experiments.bench.claims import Line, lines_of
from experiments.harness.figures import decimal, figure_answering, key
from experiments.harness.judging import Outcome, Verdict, judged
from experiments.harness.names import name_of
from experiments.harness.provenance import Provenance
from experiments.harness.statistics import Interval, describe_number, median_interval
from experiments.harness.tables import select, values_of

MARKS = {  # colour and marker of a verdict, and its name
    Verdict.HOLDS: ("#009e73", "o", "met"),
    Verdict.UNDECIDED: ("#8c8c8c", "D", "not decided"),
    Verdict.FAILS: ("#d55e00", "X", "missed"),
}


class Drawn(NamedTuple):
    """A goal's case, its interval and its verdict."""

    line: Line
    interval: Interval
    outcome: Outcome

    @property
    def number(self) -> str:
        """The median with its interval, or the reason why there is none."""
        low, high, middle = (
            describe_number(value)
            for value in (self.interval.low, self.interval.high, self.interval.mean)
        )
        if not self.interval.num_seeds:
            return f"not measured: {self.outcome.detail}"
        return f"{middle} ({low} to {high})" if np.isfinite(self.interval.low) else middle


def plot(results: pd.DataFrame, provenance: Provenance) -> Figure:
    """A line for each goal, and below it the cases it is measured in."""
    run, reasons = set(results["benchmark"]), provenance.not_measured  # `--only` runs some
    lines = [
        line
        for line in lines_of(provenance.scale)
        if line.goal.benchmark in run or name_of(line.where) in reasons
    ]
    said = judged([line.claim for line in lines], results, reasons)
    drawn = [
        Drawn(line, median_interval(values_of(results, line.where, line.goal.quantity)), outcome)
        for line, (_, outcome) in zip(lines, said, strict=True)
    ]
    figure, axes = figure_answering(
        answer(results, [one.outcome.verdict for one in drawn]),
        size=(7.6, 1.8 + 0.15 * (len(lines) + len({line.text for line in lines}))),
    )
    ax = axes[0, 0]
    _draw_lines(ax, drawn)
    ax.axvline(1.0, color="black", linewidth=1.2, zorder=1)
    ax.annotate("goal", (1.0, 1.0), xycoords=ax.get_xaxis_transform(), ha="center", va="bottom")
    ax.set_xlim(0.0, max(1.3, ax.get_xlim()[1]))
    ax.set_xlabel("measured / goal (goal / measured where more is better)")
    handles = [key(name, colour, marker) for colour, marker, name in MARKS.values()]
    note = (
        "left of the line a goal is met; dots: median over rounds of timing, bars: its 95 % "
        "interval;\nwithout a bar: counted, or measured once"
    )
    add_legend(figure, handles, num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame, verdicts: list[Verdict]) -> str:
    """The number of goals met, and the time of an update of the copy task."""
    missed = verdicts.count(Verdict.FAILS)
    said = (
        f"{verdicts.count(Verdict.HOLDS)} of {len(verdicts)} speed goals are met, "
        f"{missed or 'none'} {'are' if missed > 1 else 'is'} missed"
    )
    if "pytorch" not in set(results["benchmark"]):  # `--only` of others
        return said
    copy_task = {"benchmark": "pytorch", "preset": "gpt_neox", "asked": 1}
    ratios = select(results, copy_task, "update / PyTorch")["value"]
    return f"{said}:\nan update of the copy task takes {decimal(ratios.median())} of PyTorch's time"


def _draw_lines(ax: Axes, drawn: list[Drawn]) -> None:
    """A goal above its cases; their names on the left, their numbers on the right."""
    places: list[int] = []
    place, text = -1, ""
    for one in drawn:
        place += 1
        if one.line.text != text:
            text = one.line.text
            box = {"facecolor": "white", "linewidth": 0, "pad": 0.5}
            ax.text(0.02, place, text, va="center", fontsize=7.5, fontweight="bold", bbox=box)
            place += 1
        places.append(place)
        _draw(ax, place, one)
    ax.set_ylim(place + 0.6, -0.6)
    ax.set_yticks(places, [one.line.case for one in drawn])
    ax.tick_params(axis="y", labelsize=7, length=0)
    ax.grid(visible=False, axis="y")
    right = ax.secondary_yaxis("right")
    right.set_yticks(places, [one.number for one in drawn])
    right.tick_params(labelsize=7, length=0)
    right.spines["right"].set_visible(False)


def _draw(ax: Axes, place: int, one: Drawn) -> None:
    if not one.interval.num_seeds:
        return
    colour, marker, _ = MARKS[one.outcome.verdict]
    low, middle, high = (
        one.line.goal.of_bound(value)
        for value in (one.interval.low, one.interval.mean, one.interval.high)
    )
    ax.plot(middle, place, marker, color=colour, markersize=4.5, zorder=3)
    if np.isfinite(one.interval.low):
        ax.plot([low, high], [place] * 2, color=colour, linewidth=2.2, solid_capstyle="butt")
