"""The course of one training: its loss, and the accuracy of every group of every split."""

from collections.abc import Mapping
from itertools import cycle
from types import MappingProxyType

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from el_jax.plots.style import (
    LEGEND_FONT_SIZE,
    LOSS_COLOURS,
    SPARE_COLOURS,
    add_chance_line,
    add_question,
    new_figure,
)

Course = tuple[Int[np.ndarray, "S"], Float[np.ndarray, "S R"]]


def plot_training(
    panels: Mapping[str, Mapping[str, Course]],
    title: str,
    chance: Mapping[str, float] = MappingProxyType({}),
) -> Figure:
    """Draw one panel for each kind of number and one colour for each name, over updates.

    Args:
        panels: axis label -> name -> the updates at which it was measured and its value for each
            run. Thick lines are means over the runs that have a number, thin lines single runs.
        title: the sentence above.
        chance: axis label -> value of a guess, drawn as a line in that panel.
    """
    figure, axes = new_figure(1, len(panels), size=(4.4 * len(panels), 3.8))
    for ax, (label, courses) in zip(axes[0], panels.items(), strict=True):
        colours = cycle([*LOSS_COLOURS.values(), *SPARE_COLOURS])
        for (name, course), colour in zip(courses.items(), colours, strict=False):
            _plot_runs(ax, course, name, colour)
        if label in chance:
            add_chance_line(ax, chance[label])
        ax.set_xlabel("updates")
        ax.set_ylabel(label)
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, frameon=False,
            fontsize=LEGEND_FONT_SIZE,
        )  # fmt: skip
    add_question(figure, title)
    return figure


def _plot_runs(ax: Axes, course: Course, name: str, colour: str) -> None:
    steps, values = course
    known = ~np.isnan(values).all(axis=1)
    steps, values = steps[known], values[known]
    ax.plot(steps, np.nanmean(values, axis=1), color=colour, label=name, zorder=3)
    if values.shape[1] > 1:
        ax.plot(steps, values, color=colour, linewidth=0.5, alpha=0.35, zorder=2)
