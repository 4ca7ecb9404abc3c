"""Accuracy where the shortcut is wrong, and the shortcut's weight share, against its size."""

import pandas as pd
from matplotlib.figure import Figure

from el_jax.plots import add_chance_line, add_legend, add_titles
from experiments.el_margins.claims import BASE, RATIO, WORST_GROUP
from experiments.el_margins.run import LOSSES, SIZES
from experiments.harness.figures import (
    Line,
    colour_of,
    draw_against,
    figure_answering,
    stated,
    t_note,
    ticks_at,
)
from experiments.harness.names import name_of

LINES = [Line(name_of(loss), loss, colour_of(loss)) for loss in LOSSES]
PANELS = {
    WORST_GROUP: ("where the shortcut is wrong", "accuracy on unseen examples"),
    RATIO: ("weight of the shortcut", "$|B w_z| / |w_y|$"),
}


def plot(results: pd.DataFrame) -> Figure:
    """A panel for each number, a line for each loss."""
    figure, axes = figure_answering(answer(results), 1, len(PANELS), size=(8.2, 4.0))
    for ax, (metric, (_, words)) in zip(axes.ravel(), PANELS.items(), strict=True):
        draw_against(ax, results, metric, LINES, "shortcut_size")
        ticks_at(ax, SIZES, base=2)
        ax.set(xlabel="size of the shortcut, B", ylabel=words)
    axes[0, 0].set_ylim(0.0, 1.03)
    axes[0, 1].set_yscale("log")
    add_chance_line(axes[0, 0], 0.5)
    add_titles(axes.ravel(), [title for title, _ in PANELS.values()])
    handles = axes[0, 0].get_legend_handles_labels()[0]
    note = f"dots: a training set each; diamonds: mean, {t_note(results)}"
    add_legend(figure, handles, num_columns=len(handles), note=note)
    return figure


def answer(results: pd.DataFrame) -> str:
    """The accuracy of every loss at the published shortcut size."""
    shown = "; ".join(
        f"{name_of(loss)}: {stated(results, loss | BASE, WORST_GROUP)}" for loss in LOSSES
    )
    return f"Right where a shortcut of size {BASE['shortcut_size']} is wrong\n{shown}"
