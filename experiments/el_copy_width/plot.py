"""Accuracy on unseen strings against the width, its spread over seeds, and its worst seed."""

import math
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import DASHED, SOLID, add_chance_line, add_legend, add_titles
from experiments.el_copy_context.run import TOKENS
from experiments.el_copy_width.claims import CHANCE, HARD, SPREAD, derived
from experiments.harness.figures import decimal, draw_against, figure_answering, t_note, ticks_at
from experiments.harness.statistics import paired_slope
from experiments.harness.tables import by_cell, levels, read_table, values_of

WORST = "#555555"  # the worst seed, which is no mean


def plot(out: Path) -> Figure:
    """A row per context: accuracies on the left, their spread on the right."""
    results = derived(read_table(out / "results.csv"))
    packed = levels(results, "strings_per_window")
    figure, axes = figure_answering(
        answer(results), len(packed), 2, size=(8.4, 1.4 + 2.7 * len(packed)), share_x=True
    )
    for strings, (accuracy, spread) in zip(packed, axes, strict=True):
        where = {"strings_per_window": strings}
        _draw_accuracy(accuracy, results, where)
        draw_against(spread, results, SPREAD, where, "width", label="spread", line_style="none")
        spread.set_ylabel("distance to the median")
        spread.set_ylim(bottom=0.0)
        for ax in (accuracy, spread):
            ticks_at(ax, levels(results, "width", where), base=2)
            ax.set_xlabel("width")
    kinds = ("unseen strings", "hard ones: spread over seeds")
    titles = [f"{kind}, context {TOKENS * strings}" for strings in packed for kind in kinds]
    add_titles(axes.ravel(), titles)
    note = (
        f"dots: a run each; diamonds: mean, {t_note(results)}; a seed draws data and network\n"
        "spread: distance of a run to the median of its width"
    )
    worst, *groups = axes[0, 0].get_legend_handles_labels()[0]
    add_legend(figure, [*groups, worst], num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The slope of hard accuracy over doublings of the width, in the longest context."""
    longest = {"strings_per_window": levels(results, "strings_per_window")[-1]}
    widths = levels(results, "width", longest)
    slope = paired_slope(by_cell(results, longest, HARD), [math.log2(width) for width in widths])
    said = "Yes" if slope.high < 0 else "No" if slope.mean >= 0 else "Undecided"
    return (
        f"Does width cost accuracy on unseen hard strings? {said}:\n"
        f"{decimal(slope.mean, 3, signed=True)} a doubling, 95 % t interval "
        f"{decimal(slope.low, 3, signed=True)} to {decimal(slope.high, 3, signed=True)}"
    )


def _draw_accuracy(ax: Axes, results: pd.DataFrame, where: dict[str, int]) -> None:
    for group, style in {"hard": SOLID, "easy": DASHED}.items():
        metric, label = f"test_precise_{group}_accuracy", f"{group} strings"
        draw_against(ax, results, metric, where, "width", label=label, line_style=style)
    widths = levels(results, "width", where)
    worst = [values_of(results, {**where, "width": width}, HARD).min() for width in widths]
    ax.plot(widths, worst, "v:", color=WORST, label="hard strings, worst seed", zorder=3)
    add_chance_line(ax, CHANCE)
    ax.set_ylabel("accuracy")
    ax.set_ylim(0.0, 1.03)
