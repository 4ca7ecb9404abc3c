"""Accuracy on unseen hard strings, and the share that copies, against each data factor."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_copy_context.claims import CE, COPIES, E1, HARD, along
from experiments.el_copy_context.run import BASE, TOKENS
from experiments.harness.figures import (
    Line,
    count_fitted,
    decimal,
    draw_against,
    figure_answering,
    stated,
    t_note,
)
from experiments.harness.tables import levels

FACTORS = {
    "strings_per_window": ("neighbours in the window", "context, tokens"),
    "padding_length": ("length of the padding", "letters of padding"),
    "easy_fraction": ("share of easy strings", "share of easy strings"),
}
MEASURES = {COPIES: "share that copies (swap test)", HARD: "share that is right (unseen hard)"}


def plot(results: pd.DataFrame) -> Figure:
    """A row for each measure, a column for each factor."""
    figure, axes = figure_answering(
        answer(results), len(MEASURES), len(FACTORS), size=(8.6, 5.6), share_y=True
    )
    for (metric, label), row in zip(MEASURES.items(), axes, strict=True):
        for ax, factor in zip(row, FACTORS, strict=True):
            _draw(ax, results, metric, factor)
        row[0].set(ylabel=label, ylim=(-0.03, 1.03))
    for ax, (_, label) in zip(axes[-1], FACTORS.values(), strict=True):
        ax.set_xlabel(label)
    add_titles(axes.ravel(), [title for title, _ in FACTORS.values()] * len(MEASURES))
    note = (
        f"dots: a run each; diamonds: mean, {t_note(results)}; a seed draws data and network\n"
        f"elsewhere: one string a window, padding {BASE['padding_length']}, "
        f"{decimal(BASE['easy_fraction'], 1)} easy"
    )
    add_legend(figure, axes[0, 0].get_legend_handles_labels()[0], num_columns=2, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share that each method copies with two strings per window, and by share of easy ones."""
    most = levels(results, "easy_fraction")[-1]
    changes: list[dict[str, Any]] = [{}]
    changes += [{"strings_per_window": 2}, {"easy_fraction": 0.5}, {"easy_fraction": most}]
    ce, e1 = (
        [stated(results, method | BASE | change, COPIES) for change in changes]
        for method in (CE, E1)
    )
    return (
        f"{count_fitted(results)} runs fit. Cross-entropy copies {ce[0]} of the swap test, "
        f"{ce[1]} with two strings a window,\n{ce[2]} with half of the strings easy "
        f"and {ce[3]} with {decimal(most, 1)}; E1 {', '.join(e1[:3])} and {e1[3]}"
    )


def _draw(ax: Axes, results: pd.DataFrame, metric: str, factor: str) -> None:
    ce, e1 = (along(method, factor) for method in (CE, E1))
    lines = [Line("cross-entropy", ce, "#000000"), Line("E1", e1, "#0072b2")]
    draw_against(ax, results, metric, lines, factor)
    values = levels(results, factor, along(CE, factor))
    if factor != "easy_fraction":
        ax.set_xscale("log", base=2)
    scale = TOKENS if factor == "strings_per_window" else 1
    ax.set_xticks(values, [f"{scale * value:g}" for value in values])
    ax.minorticks_off()
