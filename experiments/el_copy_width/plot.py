"""Accuracy on unseen strings against the width, its spread over seeds, and its worst seed."""

import math
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    EASY,
    HARD,
    add_chance_line,
    add_legend,
    add_question,
    add_titles,
    new_figure,
    plot_lines_vs,
)
from experiments.el_copy_width.settings import HARD_ACCURACY, by_context, distances
from experiments.harness.figures import decimal, t_note, t_sems
from experiments.harness.statistics import paired_slope
from experiments.harness.tables import read_results, seed_table, values_of

COLOUR = "#555555"  # of the worst seed, which is no mean


def plot(out: Path) -> Figure:
    """A row per context: accuracies on the left, their spread on the right."""
    results = read_results(out / "results.csv")
    contexts = by_context(results)
    figure, axes = new_figure(len(contexts), 2, size=(8.4, 1.4 + 2.7 * len(contexts)), share_x=True)
    add_question(figure, answer(results))
    for widths, (accuracy, spread) in zip(contexts.values(), axes, strict=True):
        _draw_accuracy(accuracy, results, widths)
        _draw_spread(spread, results, widths)
        for ax in (accuracy, spread):
            ax.set_xscale("log", base=2)
            ax.set_xticks(list(widths), [str(width) for width in widths])
            ax.minorticks_off()
            ax.set_xlabel("width")
    kinds = ("unseen strings", "hard ones: spread over seeds")
    add_titles(axes.ravel(), [f"{kind}, context {c}" for c in contexts for kind in kinds])
    note = (
        f"dots: a run each; diamonds: mean, {t_note(results)}; a seed draws data and network\n"
        "spread: distance of a run to the median of its width"
    )
    worst, *groups = axes[0, 0].get_legend_handles_labels()[0]
    add_legend(figure, [*groups, worst], num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The slope of hard accuracy over doublings of the width, in the longest context."""
    contexts = by_context(results)
    widths = contexts[max(contexts)]
    question = "Does width cost accuracy on unseen hard strings?"
    if len(widths) < 2:
        return question
    entries = [values_of(results, setting, HARD_ACCURACY) for setting in widths.values()]
    slope = paired_slope(entries, [math.log2(width) for width in widths])
    if not math.isfinite(slope.low):
        return question
    said = "Yes" if slope.high < 0 else "No" if slope.mean >= 0 else "Undecided"
    return (
        f"{question} {said}:\n{decimal(slope.mean, 3, signed=True)} a doubling, 95 % t interval "
        f"{decimal(slope.low, 3, signed=True)} to {decimal(slope.high, 3, signed=True)}"
    )


def _draw_accuracy(ax: Axes, results: pd.DataFrame, widths: dict[int, str]) -> None:
    settings, table = list(widths.values()), seed_table(results)
    for group, line_style in {"hard": HARD, "easy": EASY}.items():
        plot_lines_vs(
            ax, list(widths), table, f"test_precise_{group}_accuracy", settings,
            label=f"{group} strings", line_style=line_style,
            num_sems=t_sems,
        )  # fmt: skip
    worst = [values_of(results, setting, HARD_ACCURACY).min() for setting in settings]
    ax.plot(list(widths), worst, "v:", color=COLOUR, label="hard strings, worst seed", zorder=3)
    add_chance_line(ax, 1 / 26)
    ax.set_ylabel("accuracy")
    ax.set_ylim(0.0, 1.03)


def _draw_spread(ax: Axes, results: pd.DataFrame, widths: dict[int, str]) -> None:
    plot_lines_vs(
        ax, list(widths), seed_table(distances(results)), HARD_ACCURACY, list(widths.values()),
        label="spread", line_style="none", num_sems=t_sems,
    )  # fmt: skip
    ax.set_ylabel("distance to the median")
    ax.set_ylim(bottom=0.0)
