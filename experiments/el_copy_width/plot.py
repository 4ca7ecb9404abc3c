"""Accuracy on unseen hard strings, and the share that copies, against the width."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_legend, add_titles
from experiments.el_copy_width.claims import COPIES, HARD, at
from experiments.harness.figures import (
    Line,
    count_fitted,
    draw_against,
    figure_answering,
    stated,
    t_note,
    ticks_at,
)
from experiments.harness.tables import levels

PANELS = {COPIES: "swap test: share that copies", HARD: "unseen hard strings: share that is right"}
LINES = [
    Line("cross-entropy", at("cross-entropy"), "#000000"),
    Line("E1", at("E1"), "#0072b2"),
    Line("heavy decay", at("weight decay"), "#d55e00"),
]


def plot(results: pd.DataFrame) -> Figure:
    """A panel for each measure, a line for each recipe."""
    figure, axes = figure_answering(answer(results), 1, 2, size=(8.6, 3.6), share_y=True)
    for ax, metric in zip(axes[0], PANELS, strict=True):
        draw_against(ax, results, metric, LINES, "width")
        ticks_at(ax, levels(results, "width"), base=2)
        ax.set(xlabel="width", ylim=(-0.03, 1.03))
    add_titles(axes.ravel(), [*PANELS.values()])
    handles = axes[0, 0].get_legend_handles_labels()[0]
    note = f"dots: a run each; diamonds: mean, {t_note(results, 'data sets')}"
    add_legend(figure, handles, num_columns=3, note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The share that each recipe copies at the least and largest width; how many runs fit."""
    widths = levels(results, "width")
    ends = (widths[0], widths[-1])
    ce, e1, decay = (
        [stated(results, {**line.where, "width": end}, COPIES) for end in ends] for line in LINES
    )
    return (
        f"With heavy decay runs copy {decay[0]} of the swap test at width {ends[0]:g} "
        f"and {decay[1]} at {ends[1]:g},\nwith E1 {e1[0]} and {e1[1]}, "
        f"with cross-entropy {ce[0]} and {ce[1]}. {count_fitted(results)} runs fit"
    )
