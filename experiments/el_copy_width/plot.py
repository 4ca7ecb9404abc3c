"""Accuracy on unseen strings against the width, its spread over seeds, and its worst seed."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import (
    EASY,
    HARD,
    add_chance_line,
    add_legend,
    add_question,
    add_title,
    new_figure,
    plot_lines_vs,
)
from experiments.el_copy_width.settings import HARD_ACCURACY, by_context
from experiments.harness.statistics import bootstrap_interval
from experiments.harness.tables import read_results, seed_table, values_of

COLOUR = "#555555"  # of what is no mean over seeds


def plot(out: Path) -> Figure:
    """A row per context: accuracies on the left, their spread on the right."""
    results = read_results(out / "results.csv")
    contexts = by_context(results)
    figure, axes = new_figure(len(contexts), 2, size=(7.5, 0.9 + 2.9 * len(contexts)), share_x=True)
    add_question(figure, "Does a larger model copy hard strings worse, and less surely?")
    for (context, widths), (accuracy, spread) in zip(contexts.items(), axes, strict=True):
        _draw_accuracy(accuracy, results, widths)
        add_title(accuracy, f"unseen strings, context {context}")
        _draw_spread(spread, results, widths)
        add_title(spread, "hard strings: spread over seeds")
        for ax in (accuracy, spread):
            ax.set_xscale("log", base=2)
            ax.set_xticks(list(widths), [str(width) for width in widths])
            ax.minorticks_off()
            ax.set_xlabel("width")
    add_legend(figure, axes[0, 0].get_legend_handles_labels()[0])
    return figure


def _draw_accuracy(ax: Axes, results: pd.DataFrame, widths: dict[int, str]) -> None:
    settings, table = list(widths.values()), seed_table(results)
    for group, line_style in {"hard": HARD, "easy": EASY}.items():
        plot_lines_vs(
            ax, list(widths), table, f"test_precise_{group}_accuracy", settings,
            label=f"cross-entropy, {group} strings", line_style=line_style,
        )  # fmt: skip
    worst = [values_of(results, setting, HARD_ACCURACY).min() for setting in settings]
    ax.plot(list(widths), worst, "v:", color=COLOUR, label="hard strings, worst seed", zorder=3)
    add_chance_line(ax, 1 / 26)
    ax.set_ylabel("accuracy")
    ax.set_ylim(0.0, 1.03)


def _draw_spread(ax: Axes, results: pd.DataFrame, widths: dict[int, str]) -> None:
    def deviation(values: np.ndarray) -> np.ndarray:
        return np.asarray(values[0].std(axis=-1, ddof=1))

    for width, setting in widths.items():
        entry = values_of(results, setting, HARD_ACCURACY)
        if len(entry) < 2:
            continue
        interval = bootstrap_interval([entry], deviation)
        ax.vlines(width, interval.low, interval.high, color=COLOUR, linewidth=1.2)
        ax.plot(width, interval.mean, "D", color=COLOUR, markersize=5)
    ax.set_ylabel("standard deviation")
    ax.set_ylim(bottom=0.0)
