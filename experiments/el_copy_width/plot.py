"""Accuracy on unseen hard strings, and the share that copies, against the width."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_copy_width.claims import COPIES, FITTED, HARD, at
from experiments.el_copy_width.run import METHOD_NAMES
from experiments.harness.figures import (
    count_fitted,
    draw_against,
    draw_dots,
    figure_answering,
    stated,
    t_note,
    ticks_at,
)
from experiments.harness.tables import Where, levels, select

PANELS = {COPIES: "swap test: share that copies", HARD: "unseen hard strings: share that is right"}
LABELS = {"weight decay": "heavy decay"}
COLOURS = {"cross-entropy": "#000000", "E1": "#0072b2", "weight decay": "#d55e00"}


def plot(results: pd.DataFrame) -> Figure:
    """A panel for each measure, a line for each recipe; for a pilot, a row for each rate."""
    if len(levels(results, "width")) == 1:
        return _plot_rates(results)
    figure, axes = figure_answering(answer(results), 1, 2, size=(8.6, 3.6), share_y=True)
    for ax, metric in zip(axes[0], PANELS, strict=True):
        for name in METHOD_NAMES:
            label, colour = LABELS.get(name, name), COLOURS[name]
            draw_against(ax, results, metric, at(name), "width", label=label, colour=colour)
        ticks_at(ax, levels(results, "width"), base=2)
        ax.set(xlabel="width", ylim=(-0.03, 1.03))
    add_titles(axes.ravel(), [*PANELS.values()])
    add_legend(
        figure,
        axes[0, 0].get_legend_handles_labels()[0],
        num_columns=3,
        note=f"dots: a run each; diamonds: mean, {t_note(results, 'data sets')}",
    )
    return figure


def _plot_rates(results: pd.DataFrame) -> Figure:
    """The share that copies, a row for each recipe and rate."""
    means = select(results, {}, COPIES).groupby(["method", "peak_lr"])["value"].mean()
    best = means.groupby("method").idxmax()
    chosen = "; ".join(f"{name}, η = {rate:g}" for name, rate in best)
    figure, axes = figure_answering(f"These copy most: {chosen}", 1, 1, size=(8.6, 3.0))

    def label(cell: Where) -> str:
        return f"{cell['method']}, η = {cell['peak_lr']:g}"

    cells = [{"method": name} for name in METHOD_NAMES]
    draw_dots(axes[0, 0], results, COPIES, cells, label=label)
    axes[0, 0].set_xlabel(PANELS[COPIES])
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share that each recipe copies at the least and largest width; how many runs fit."""
    widths = levels(results, "width")
    ends = (widths[0], widths[-1])

    def shown(name: str) -> tuple[str, ...]:
        return tuple(stated(results, at(name, width), COPIES) for width in ends)

    ce, e1, decay = map(shown, METHOD_NAMES)
    return (
        f"With heavy decay runs copy {decay[0]} of the swap test at width {ends[0]:g} "
        f"and {decay[1]} at {ends[1]:g},\nwith E1 {e1[0]} and {e1[1]}, "
        f"with cross-entropy {ce[0]} and {ce[1]}. {count_fitted(results, FITTED)} runs fit"
    )
